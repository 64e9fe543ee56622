// A stack as a person wants it: the line of the program that made the call, not the library's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/flight_recorder.h"

namespace faultline {

/// PyTorch's own files, installed packages, the standard library, frozen modules, C++.
bool is_library_file(std::string_view file);

/// "/srv/train.py:65 in <module>": the innermost frame outside of libraries; if there is none, the
/// innermost outside of PyTorch; "" without a stack.
std::string own_frame(const FlightRecorderDump& dump, const RecorderEntry& entry);

/// The frames, innermost first, one a line; as many as fit.
std::string stack_text(const FlightRecorderDump& dump, const RecorderEntry& entry,
                       std::size_t bytes_max);

}  // namespace faultline
