// What an event carries is bounded, whoever wrote the line.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/event.h"

namespace faultline {

/// Nothing where there is no value, or no room for one more.
inline void add_field(Fields& fields, std::string_view name, std::string value) {
  if (!value.empty() && fields.size() < event_fields_max) fields.emplace(name, std::move(value));
}

/// printable() marks a cut with three bytes beyond its limit.
inline std::string bounded(std::string_view text, std::size_t bytes_max) {
  return printable(text, bytes_max - 3);
}

inline Fields bounded(const Fields& captures) {
  Fields fields;
  for (const auto& [name, value] : captures)
    add_field(fields, name, bounded(value, field_bytes_max));
  return fields;
}

}  // namespace faultline
