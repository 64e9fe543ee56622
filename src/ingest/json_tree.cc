#include "ingest/json_tree.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace faultline {
namespace {

using Kind = TreeValue::Kind;

/// Tells how far the parser has read, which the parser itself does not.
class Reader {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reader(const char* at, const char*& reached) : at_(at), reached_(&reached) {}
  reference operator*() const { return *at_; }
  Reader& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reader& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// What the parser calls; false ends it.
class TreeMaker {
 public:
  TreeMaker(std::string_view bytes, const TreeLimits& limits)
      : begin_(bytes.data()), reached_(begin_), limits_(limits), builder_(bytes.size(), limits) {}

  bool null() { return builder_.push(TreeValue::of_none()); }
  bool boolean(bool value) { return builder_.push(TreeValue::of_boolean(value)); }
  bool number_integer(std::int64_t value) { return builder_.push(TreeValue::of_integer(value)); }
  bool number_unsigned(std::uint64_t value) {
    return value > std::numeric_limits<std::int64_t>::max()
               ? text(std::to_string(value), Kind::big_integer)
               : builder_.push(TreeValue::of_integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string&) {
    return builder_.push(TreeValue::of_real(value));
  }
  bool string(const std::string& value) { return text(value, Kind::text); }
  bool key(const std::string& value) { return text(value, Kind::text); }
  bool binary(const nlohmann::json::binary_t&) { return false; }  // not in JSON
  bool start_object(std::size_t) { return builder_.mark(offset()); }
  bool end_object() { return builder_.collect(Kind::dict); }
  bool start_array(std::size_t) { return builder_.mark(offset()); }
  bool end_array() { return builder_.collect(Kind::list); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return builder_.fail("no JSON", false);
  }

  [[nodiscard]] const char*& reached() { return reached_; }
  ValueTree finish() { return builder_.finish(); }
  [[nodiscard]] Error error() const {
    return {builder_.exhausted() ? ErrorCode::exhausted : ErrorCode::corrupt,
            "JSON: " + std::string(builder_.problem()) + " at byte " + std::to_string(offset())};
  }

 private:
  /// Of the byte that was read last.
  [[nodiscard]] std::size_t offset() const {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(reached_ - begin_, 1) - 1);
  }
  bool text(const std::string& value, Kind kind) {
    if (value.size() > limits_.text_bytes_max)
      return builder_.fail("a text longer than the limit allows");
    char* room = builder_.room_for_text(value.size());
    if (room == nullptr) return false;
    std::copy(value.begin(), value.end(), room);
    return builder_.push(TreeValue::of_text({room, value.size()}, kind));
  }

  const char* begin_;
  const char* reached_;
  TreeLimits limits_;
  TreeBuilder builder_;
};

}  // namespace

Result<ValueTree> read_json_tree(std::string_view bytes, const TreeLimits& limits) {
  if (bytes.size() > limits.input_bytes_max)
    return Error{ErrorCode::exhausted, "JSON: " + std::to_string(bytes.size()) +
                                           " bytes are more than the limit of " +
                                           std::to_string(limits.input_bytes_max)};
  TreeMaker maker(bytes, limits);
  const Reader first(bytes.data(), maker.reached());
  const Reader last(bytes.data() + bytes.size(), maker.reached());
  if (!nlohmann::json::sax_parse(first, last, &maker)) return maker.error();
  return maker.finish();
}

}  // namespace faultline
