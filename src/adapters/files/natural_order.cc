#include "adapters/files/natural_order.h"

#include <algorithm>
#include <cstddef>

namespace faultline {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int order_of(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }

/// Takes the digits that `text` begins with, without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool natural_less(std::string_view left, std::string_view right) {
  const std::string_view whole_left = left;
  const std::string_view whole_right = right;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left[0]) && is_digit(right[0])) {
      const auto a = take_number(left);
      const auto b = take_number(right);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      continue;
    }
    if (left[0] != right[0]) return order_of(left[0]) < order_of(right[0]);
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return whole_left < whole_right;  // rank1 and rank01
}

}  // namespace faultline
