// FNV-1a, 64 bit: stable content ids (not for security). Source: the published FNV constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace faultline {

class StableHash {
 public:
  /// Adds a field. Each field is closed by a separator, so ("ab","c") and ("a","bc") differ.
  StableHash& add(std::string_view field) {
    for (const char c : field) mix(static_cast<unsigned char>(c));
    mix(0x1f);
    return *this;
  }
  StableHash& add(std::int64_t number) { return add(std::to_string(number)); }
  [[nodiscard]] std::uint64_t value() const { return state_; }
  /// 16 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;

 private:
  void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace faultline
