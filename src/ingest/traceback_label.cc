#include "ingest/traceback_label.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::string_view first_line = "Traceback (most recent call last):";
constexpr std::size_t label_bytes_max = 160;
constexpr std::size_t shapes_max = 8;
constexpr std::size_t digits_max = 20;

/// What a program tells as a warning it has caught (as information it tells all that a logger was
/// put in place of its output for). An exception's own words are no label, nor are the rows of a
/// launcher's table.
bool is_label(std::string_view text) {
  static constexpr auto others =
      std::to_array<std::string_view>({"debug", "warn", "traceback", "exception"});
  if (text.size() > label_bytes_max || std::none_of(text.begin(), text.end(), is_letter))
    return false;
  const std::string lower = to_lower(text);
  return text.find("Error") == std::string_view::npos &&
         std::none_of(others.begin(), others.end(), [&](std::string_view other) {
           return lower.find(other) != std::string::npos;
         });
}

std::string shape_of(std::string_view label) {
  std::string shape;
  for (const char c : label) {
    if (!is_digit(c) || !shape.ends_with('0')) shape += is_digit(c) ? '0' : c;
  }
  return shape;
}

/// The bytes of `body` that have the shape; 0 if it does not begin so.
std::size_t length_of(std::string_view shape, std::string_view body) {
  TextCursor cursor(body);
  for (const char c : shape) {
    if (c == '0' ? !cursor.take_digits(1, digits_max) : !cursor.take(c)) return 0;
  }
  return cursor.at();
}

}  // namespace

std::size_t TracebackLabels::take(std::string_view body) {
  if (const auto at = body.find(first_line); at != std::string_view::npos) {
    if (trim(body.substr(at + first_line.size())).empty()) learn(body.substr(0, at));
    return 0;
  }
  for (const std::string& shape : shapes_) {
    if (const std::size_t length = length_of(shape, body); length > 0) return length;
  }
  return 0;
}

void TracebackLabels::learn(std::string_view label) {
  if (!is_label(label)) return;
  std::string shape = shape_of(label);
  if (contains(shapes_, shape)) return;
  if (shapes_.size() == shapes_max) shapes_.erase(shapes_.begin());
  shapes_.push_back(std::move(shape));
}

}  // namespace faultline
