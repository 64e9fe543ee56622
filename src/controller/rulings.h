// The ruling board: what `faultline run` is told about its attempt. A launcher withholds its exit
// until the report for its attempt is final, so that a drain lands before the allocation is freed.
// What becomes known after that is reported once more: to a node that turns out to have a rank of
// the attempt, and to all of them when the verdict or the outcome of an act comes late.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "controller/ports.h"
#include "model/event.h"

namespace faultline {

inline constexpr std::size_t ruling_reports_max = 4096;
/// Attempts on the board. Beyond it those go first whose ruling was given, then the ones longest
/// unheard of; an attempt that was let go is taken up again when it fails.
inline constexpr std::size_t ruling_cases_max = 4096;
inline constexpr std::size_t ruling_verdicts_per_case_max = 64;
inline constexpr std::size_t ruling_reports_per_case_max = 8;
/// Nobody waits for a ruling this long.
inline constexpr Duration ruling_age_max = std::chrono::hours{1};

/// Thread-safe.
class RulingBoard {
 public:
  RulingBoard(const Catalog& catalog, Duration lateness) : catalog_(catalog), lateness_(lateness) {}

  /// Learns where ranks run and which attempts have failed. `now` is when it was learnt.
  void observe(const Event& event, Instant now);
  void verdict(const Verdict& verdict, const ClusterView& view);
  void decision(const Decision& decision);
  void outcome(const Outcome& outcome);
  /// Reports what is settled: every act decided for a failed attempt has an outcome, or nothing
  /// came within the lateness bound and a margin.
  void tick(Instant now);

  std::vector<RulingReport> reports_for(const std::string& node, std::uint64_t& cursor);
  [[nodiscard]] std::size_t cases() const;

 private:
  struct Case {
    std::set<std::string> nodes;
    Instant heard_at;
    Instant failed_at;  // unknown: not failed so far
    std::map<VerdictId, Verdict> verdicts;
    bool news = false;     // since the last report
    std::string reported;  // "" before the first report
    std::size_t reports = 0;
  };
  struct Report {
    std::uint64_t number;
    std::string node;  // "": for every node of the attempt
    RulingReport report;
  };
  Case& take_up(const AttemptId& attempt, Instant now);
  void learn_node(const AttemptId& attempt, Case& one, std::string node);
  void report(const AttemptId& attempt, const std::string& node, const std::string& text);
  void note_news(const VerdictId& verdict);
  void forget_old(Instant now);
  [[nodiscard]] bool concerns(const Verdict& verdict, const AttemptId& attempt, const Case& one,
                              const ClusterView& view) const;
  [[nodiscard]] bool settled(const ActionId& action) const;
  [[nodiscard]] bool waiting(const Case& one) const;
  [[nodiscard]] bool due(const Case& one, Instant now) const;
  [[nodiscard]] std::string summary(const Case& one) const;

  const Catalog& catalog_;
  Duration lateness_;
  mutable std::mutex mutex_;
  std::map<AttemptId, Case> cases_;
  std::map<ActionId, Decision> acts_;
  std::map<ActionId, Outcome> outcomes_;
  std::deque<Report> reports_;
  std::uint64_t next_ = 1;
};

}  // namespace faultline
