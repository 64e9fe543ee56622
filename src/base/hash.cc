#include "base/hash.h"

namespace faultline {

std::string StableHash::hex() const {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  std::uint64_t rest = state_;
  for (std::size_t i = text.size(); i-- > 0; rest >>= 4) text[i] = digits[rest & 0xf];
  return text;
}

}  // namespace faultline
