// Words that a line quotes, denies or tells for information, as against reports: a test's name, a
// sample of the training text, a note about an earlier attempt. What a program says of broken
// hardware costs a node, so it must be a report.
#pragma once

#include <cstddef>
#include <string_view>

#include "catalog/catalog.h"

namespace faultline {

/// True if what begins at `at` in `line` is no report of the line's own.
bool is_quoted(std::string_view line, std::size_t at);

/// The same of a program's words about a device; LogDecoder counts such lines in
/// ingest_quoted_device_lines_total.
bool quotes_device(const Signature& signature, std::string_view line, std::size_t at);

}  // namespace faultline
