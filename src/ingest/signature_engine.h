// Finds the catalog's signatures in lines. One hit a line: what several signatures know of it is
// merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "ingest/signature_database.h"
#include "model/event.h"

namespace faultline {

/// Lines as the engine scans them: heads (time, host, ...) and bodies of all lines in one buffer,
/// each closed by '\n', so that '^' and '$' of a pattern mean the body's start and end. A line
/// never contains '\n'.
class LineBlock {
 public:
  struct Entry {
    std::size_t start = 0;  // of the head, in text()
    std::size_t body = 0;
    std::size_t end = 0;  // of the body, without '\n'
    std::uint64_t offset = 0;
  };

  /// `head_bytes` of `line` come before the body. `offset` is the caller's and comes back with the
  /// line.
  void add(std::string_view line, std::size_t head_bytes, std::uint64_t offset);
  void clear();

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::string_view body(std::size_t line) const;
  /// The line as it was added, head and body.
  [[nodiscard]] std::string line(std::size_t line) const;
  /// Index of the line that the byte before `text_offset` belongs to.
  [[nodiscard]] std::size_t line_at(std::size_t text_offset) const;

 private:
  std::string text_;
  std::vector<Entry> entries_;
};

/// What is known of one line.
struct Hit {
  /// Index in the block.
  std::size_t line = 0;
  /// The one that names the line.
  const Signature* signature = nullptr;
  /// Where its words begin in the body.
  std::size_t at = 0;
  /// Of all of them; on a conflict that of `signature`, then of details, then of parsers.
  Fields captures;
  /// Every signature on the line, the one that names it first.
  std::vector<const Signature*> matched;
};

/// Not thread-safe; one for each log. Small: the compiled patterns and work spaces belong to the
/// shared database.
class SignatureEngine {
 public:
  explicit SignatureEngine(std::shared_ptr<const SignatureDatabase> database, Counters& counters);

  /// The hits of a block, ordered by line, at most one a line. Bad bytes cannot make it fail. Where
  /// RE2 does not confirm what Vectorscan saw (a match over two lines), the hit is dropped and
  /// counted in signature_unconfirmed_total.
  std::vector<Hit> scan(const LineBlock& block);

 private:
  /// The hit of a line out of the signatures (by index) that may be on it; nullopt if none is.
  std::optional<Hit> confirm(const LineBlock& block, std::size_t line,
                             std::vector<std::size_t> candidates);

  std::shared_ptr<const SignatureDatabase> database_;
  Counters& counters_;
};

}  // namespace faultline
