// What a detector has raised. Rules state what holds now; the book turns that into raise, update
// and clear, and keeps the id of a verdict while its evidence grows, also when an earlier line
// comes late.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "detect/detector.h"

namespace faultline {

/// Ids that a verdict carries at most; the rest is in the store under the same subject.
inline constexpr std::size_t verdict_events_max = 32;

class VerdictBook {
 public:
  explicit VerdictBook(std::string detector) : detector_(std::move(detector)) {}

  /// `holding` is everything that holds for `scope` (a node, an attempt); what was raised for it
  /// and is not in there is cleared. `updated_at` becomes `now` unless the rule has set it: old
  /// evidence must not look fresh. One exception: a confirmed verdict on a node whose evidence
  /// another verdict about that node now explains stays as it is. Clearing it would give the node
  /// back while it is still broken.
  void settle(const std::string& scope, std::vector<Verdict> holding, const Catalog& catalog,
              Instant now, VerdictSink& sink);
  /// Forgets the scope without clearing anything: the verdicts stand as they are.
  void forget(const std::string& scope) { raised_.erase(scope); }
  /// True if something is raised for `scope`.
  [[nodiscard]] bool holds(const std::string& scope) const { return raised_.contains(scope); }

 private:
  using Raised =
      std::map<std::string, Verdict>;  // cause, subject and attempt -> as it was last sent
  std::string detector_;
  std::map<std::string, Raised> raised_;
};

/// Adds `source` and `reporter` of the event and its id to the evidence.
void add_evidence(Verdict& verdict, const Event& event);
void add_consequence(Verdict& verdict, const Event& event);

}  // namespace faultline
