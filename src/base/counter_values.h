// The values of named counters, on their way from one program to another.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace faultline {

/// By name, as Counters::snapshot gives them.
using CounterValues = std::map<std::string, std::uint64_t, std::less<>>;

}  // namespace faultline
