// The ruling board: what `faultline run` is told about its attempt. A launcher withholds its exit
// until the report for its attempt is final, so that a drain lands before the allocation is freed.
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

/// Thread-safe.
class RulingBoard {
 public:
  RulingBoard(const Catalog& catalog, Duration lateness) : catalog_(catalog), lateness_(lateness) {}

  /// Learns where ranks run and which attempts have failed.
  void observe(const Event& event, Instant now);
  void verdict(const Verdict& verdict, const ClusterView& view);
  void decision(const Decision& decision);
  void outcome(const Outcome& outcome);
  /// Closes what is settled: every act decided for a failed attempt has an outcome, or nothing came
  /// within the lateness bound and a margin.
  void tick(Instant now);

  std::vector<RulingReport> reports_for(const std::string& node, std::uint64_t& cursor);

 private:
  struct Case {
    std::set<std::string> nodes;
    Instant failed_at;  // unknown: not failed so far
    bool closed = false;
    std::map<VerdictId, Verdict> verdicts;
  };
  void report(const AttemptId& attempt, bool final, std::string text);
  void forget_old(Instant now);
  [[nodiscard]] bool settled(const ActionId& action) const;
  [[nodiscard]] bool waiting(const Case& one) const;
  [[nodiscard]] std::string summary(const Case& one) const;

  const Catalog& catalog_;
  Duration lateness_;
  std::mutex mutex_;
  std::map<AttemptId, Case> cases_;
  std::map<ActionId, Decision> acts_;
  std::map<ActionId, Outcome> outcomes_;
  std::deque<std::pair<std::uint64_t, RulingReport>> reports_;
  std::uint64_t next_ = 1;
};

}  // namespace faultline
