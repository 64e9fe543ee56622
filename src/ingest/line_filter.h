// Which lines of a text may hit a signature at all? One scan of the bytes as they lie there, before
// anybody looks for line ends, times or ranks: of a log that says nothing bad nearly nothing is
// left.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ingest/signature_database.h"

namespace faultline {

struct LineSpan {
  std::size_t begin = 0, end = 0;  // `end` is behind the line feed

  bool operator==(const LineSpan&) const = default;
};

/// The lines of `text` that may hit, in order; too many and never too few. Lines with colour
/// escapes or NUL bytes, which a splitter takes out, are always among them. `text` holds whole
/// lines, each with its line feed. False if it could not be scanned: then every line may.
bool find_lines_that_may_hit(const SignatureDatabase& database, std::string_view text,
                             std::vector<LineSpan>& lines);

}  // namespace faultline
