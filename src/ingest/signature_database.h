// All patterns of some layers, compiled for one pass: Vectorscan says which signatures may be on a
// line, RE2 confirms and cuts out the captures. Immutable and shared by every engine of a process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"
#include "catalog/catalog.h"

struct hs_database;
struct hs_scratch;

namespace re2 {
class RE2;
}

namespace faultline {

/// The layers that a log of this source is matched on; empty for sources that have no log.
/// A job's log is never matched on kernel signatures: whoever prints a kernel line must not blame a
/// node with it.
std::vector<Layer> layers_of(EventSource source);

/// Thread-safe. Holds pointers into the catalog, which must outlive it.
/// `pattern` without the anchors '^' and '$' outside of brackets: what matches it somewhere on a
/// line includes what matches `pattern` at its beginning or end.
///
/// Vectorscan 5.4.9 misses matches of a pattern that begins with '^' and something of variable
/// length when the line before has run the same beginning, in databases of many patterns. Without
/// anchors it misses none, and RE2, which has the last word, has them.
std::string without_anchors(std::string_view pattern);

class SignatureDatabase {
 public:
  /// Compiles the patterns of `layers`. With a cache folder the compiled form is read from there,
  /// or written for the next start: compiling costs 0.2 s of processor time and 8 MiB for a moment,
  /// and some of those stay. A cache file that is missing, foreign or damaged is compiled anew and
  /// counted, never an error.
  /// Counters: signature_cache_hits_total, signature_cache_rejected_total,
  /// signature_cache_write_failures_total, signature_compiles_total.
  /// Errors: invalid_argument if Vectorscan cannot compile a pattern (names the signature).
  static Result<std::shared_ptr<const SignatureDatabase>> open(
      const Catalog& catalog, const std::vector<Layer>& layers,
      const std::filesystem::path& cache_folder, Counters& counters);
  /// True if open() would find a whole cache file and compile nothing.
  static bool cached(const Catalog& catalog, const std::vector<Layer>& layers,
                     const std::filesystem::path& cache_folder);
  ~SignatureDatabase();
  SignatureDatabase(const SignatureDatabase&) = delete;
  SignatureDatabase& operator=(const SignatureDatabase&) = delete;

  [[nodiscard]] const std::vector<const Signature*>& signatures() const { return signatures_; }
  /// Reports signatures()[id] wherever its pattern, without anchors, or its filter matches. nullptr
  /// if no signature is of these layers.
  [[nodiscard]] const hs_database* compiled() const { return compiled_; }
  /// The RE2 form of signatures()[index]; made at its first hit, since most signatures never hit on
  /// a machine.
  [[nodiscard]] const re2::RE2& expression(std::size_t index) const;
  [[nodiscard]] std::size_t compiled_bytes() const;

  /// Work space of one scan; nullptr if there is no memory for it. Scratches are pooled, so that a
  /// process has as many as it scans at once and not one for each log it follows.
  [[nodiscard]] hs_scratch* take_scratch() const;
  void give_scratch(hs_scratch* scratch) const;

 private:
  struct Lazy;
  SignatureDatabase();

  // Ordered by id; the index is the number that Vectorscan reports.
  std::vector<const Signature*> signatures_;
  hs_database* compiled_ = nullptr;
  std::unique_ptr<Lazy> lazy_;
};

}  // namespace faultline
