// Which lines of a text may hit a signature at all? One scan of the bytes as they lie there, before
// anybody looks for line ends, times or ranks: of a log that says nothing bad nearly nothing is
// left.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "ingest/signature_database.h"

struct hs_database;

namespace faultline {

/// Thread-safe once it is made. It lets too much through and never too little: signatures that are
/// anchored to the beginning of a line's own words, which only a parser of prefixes finds, are
/// looked for anywhere on the line; lines with colour escapes or NUL bytes, which a splitter takes
/// out, always pass.
class LineFilter {
 public:
  /// Errors: invalid_argument if Vectorscan cannot compile a pattern so.
  static Result<std::shared_ptr<const LineFilter>> open(
      std::shared_ptr<const SignatureDatabase> signatures);
  ~LineFilter();
  LineFilter(const LineFilter&) = delete;
  LineFilter& operator=(const LineFilter&) = delete;

  struct Span {
    std::size_t begin = 0, end = 0;  // `end` is behind the line feed
  };
  /// The lines of `text` that may hit, in order. `text` holds whole lines, each with its line feed.
  /// False if it could not be scanned: then every line may.
  [[nodiscard]] bool scan(std::string_view text, std::vector<Span>& lines) const;

 private:
  LineFilter() = default;
  std::shared_ptr<const SignatureDatabase> signatures_;  // for its scratches
  hs_database* compiled_ = nullptr;
};

/// `pattern` without the anchors '^' and '$' outside of brackets: what matches it somewhere on a
/// line includes what matches `pattern` at its beginning or end.
std::string without_anchors(std::string_view pattern);

}  // namespace faultline
