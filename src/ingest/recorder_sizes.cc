#include "ingest/recorder_sizes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace faultline {
namespace {

using Kind = TreeValue::Kind;

constexpr std::size_t dimensions_max = 64;  // as many as a tensor can have

void append_number(std::string& text, std::int64_t number) {
  std::array<char, 24> room{};
  const auto written = std::to_chars(room.data(), room.data() + room.size(), number);
  text.append(room.data(), written.ptr);
}

std::span<const TreeValue> dimensions(const TreeValue& shape) {
  const auto items = shape.items();
  return items.first(std::min(items.size(), dimensions_max));
}

void append_shape(std::string& text, const TreeValue& shape) {
  text += '[';
  for (const TreeValue& size : dimensions(shape)) {
    if (text.back() != '[') text += ',';
    append_number(text, size.integer().value_or(-1));
  }
  text += ']';
}

/// More than fit into a number are as many as fit.
std::int64_t element_count(const TreeValue& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;
  for (const TreeValue& size : dimensions(shape)) {
    const std::int64_t factor = std::max<std::int64_t>(size.integer().value_or(0), 0);
    count = factor != 0 && count > most / factor ? most : count * factor;
  }
  return count;
}

std::string element_count_text(std::span<const TreeValue> shapes) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;
  for (const TreeValue& shape : shapes) {
    const std::int64_t count = element_count(shape);
    total = count > most - total ? most : total + count;
  }
  return std::to_string(total);
}

}  // namespace

std::string sizes_text(const TreeValue& shapes, std::size_t bytes_max) {
  const auto items = shapes.items();
  if (items.empty()) return {};
  const bool one = !items[0].is_container();
  const TreeValue& first = one ? shapes : items[0];
  std::string text;
  if ((one || items.size() == 1) && first.items().size() == 1) {
    append_number(text, first.items()[0].integer().value_or(-1));
    return text;
  }
  if (one) {
    append_shape(text, shapes);
  } else {
    for (const TreeValue& shape : items) {
      if (!text.empty()) text += ',';
      append_shape(text, shape);
      if (text.size() > bytes_max) return element_count_text(items);
    }
  }
  return text.size() > bytes_max ? std::to_string(element_count(shapes)) : text;
}

std::string dtypes_text(const TreeValue& names, std::size_t bytes_max) {
  std::string text;
  std::string_view before;
  for (const TreeValue& name : names.items()) {
    if (name.text() == before) continue;
    before = name.text();
    if (text.size() + 1 + before.size() > bytes_max) break;
    if (!text.empty()) text += ',';
    text += before;
  }
  return text;
}

}  // namespace faultline
