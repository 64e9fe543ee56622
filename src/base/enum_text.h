// The text form of an enum, defined once beside the enum as a list in the order of its values.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace faultline {

/// Specialise with `static constexpr std::array<std::string_view, N> values`, values counted from 0
/// without gaps.
template <class Enum>
struct EnumNames;

template <class Enum>
  requires requires { EnumNames<Enum>::values; }
constexpr std::string_view to_text(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < EnumNames<Enum>::values.size() ? EnumNames<Enum>::values[index]
                                                : std::string_view("invalid");
}

template <class Enum>
constexpr std::optional<Enum> parse_enum(std::string_view text) {
  for (std::size_t i = 0; i < EnumNames<Enum>::values.size(); ++i) {
    if (EnumNames<Enum>::values[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace faultline

/// Names the values of ENUM, in their order: FAULTLINE_ENUM_NAMES(Ruling, "act", "hold").
#define FAULTLINE_ENUM_NAMES(ENUM, ...)                                            \
  template <>                                                                      \
  struct EnumNames<ENUM> {                                                         \
    static constexpr auto values = std::to_array<std::string_view>({__VA_ARGS__}); \
  }
