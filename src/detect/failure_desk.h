// Collects what is said about each attempt and its nodes, and lays a case before the rules when an
// attempt has failed. Two detectors look at failures, each with a desk of its own.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "detect/clock_offsets.h"
#include "detect/failure_case.h"

namespace faultline {

inline constexpr std::size_t attempt_lines_max = 10000;
inline constexpr std::size_t desk_node_facts_max = 512;
inline constexpr std::size_t desk_nodes_max = 65536;
/// A running job's lines older than this are not about its next failure, unless that began long
/// before it showed: a collective's time-out carries its own onset, and a process that failed may
/// leave the others waiting.
inline constexpr Duration running_lines_span = std::chrono::minutes{15};
/// For that, errors and failed processes are kept this long.
inline constexpr Duration older_errors_span = std::chrono::hours{24};
inline constexpr std::size_t older_errors_max = 64;

struct ExplainedFailure {
  const FailureCase& failure;
  const Explanation& explanation;
  bool settled;  // late evidence has been waited for
  bool stale;    // the failure was heard of long after it happened
};

class FailureDesk {
 public:
  explicit FailureDesk(const Catalog& catalog) : catalog_(catalog) {}

  void observe(const Event& event);
  /// Calls `explained` for each open failure with news, and `closed` for each attempt that is over:
  /// explained for good, or never failed (then `failed` is false and what was suspected of it does
  /// not hold).
  void evaluate(Instant now, const std::function<void(const ExplainedFailure&)>& explained,
                const std::function<void(const AttemptId&, bool failed)>& closed);
  [[nodiscard]] const AttemptTracker& attempts() const { return attempts_; }

 private:
  struct Lines {
    EventWindow window{attempt_lines_max};
    EventWindow errors{older_errors_max, WhenFull::drop_oldest};  // since its ranks were started
    OperationBoard operations;
    RankStarts started;
    Instant last_step = Instant::min();  // as far as logs say when they counted it
    bool news = false;
    bool settled = false;  // as of the last explanation
  };
  struct Suspicion {
    std::set<std::string> nodes;
    Instant at;
  };

  [[nodiscard]] bool may_be_root(const Event& event) const;
  void observe_attempt(const Event& event);
  void remember_error(const Event& event, Lines& lines) const;
  void observe_node(const Event& event);
  void remember_lost(const std::string& node, const Event& event);
  [[nodiscard]] bool lost_at(const std::string& node, Instant failed_at) const;
  void tell_failures_on(const std::string& node);  // there is news about this node
  [[nodiscard]] bool settled(const Fact& failing, Instant now) const;
  [[nodiscard]] const Fact* failing_of(const AttemptRecord& record) const;
  void explain_attempt(const AttemptRecord& record, const Fact& failing, Lines& lines, Instant now,
                       const std::function<void(const ExplainedFailure&)>& explained);
  [[nodiscard]] std::vector<JobLine> lines_of(const AttemptRecord& record, const Lines& lines,
                                              Instant failed_at) const;
  /// What is remembered of the failure that showed at `failed_at`, by time.
  [[nodiscard]] FactList facts_about(const Lines& lines, Instant failed_at) const;
  [[nodiscard]] std::vector<NodeFaults> faults_of(const AttemptRecord& record) const;
  /// What is left of `all` in this span.
  [[nodiscard]] std::vector<NodeFaults> faults_between(std::vector<NodeFaults> all,
                                                       const FailureCase& failure, Instant from,
                                                       Instant to) const;
  /// The faults that may be why the attempt ended, and those that came too late for it.
  void add_faults(const AttemptRecord& record, Instant last_step, FailureCase& failure) const;
  /// A GPU that was lost before all that and is missed now.
  void add_lost_gpus(const std::vector<NodeFaults>& earlier, FailureCase& failure) const;
  /// When the node's kernel said so last; far in the past if it did not.
  [[nodiscard]] Instant booted_before(const std::string& node, Instant failed_at) const;
  /// When the node's record was cleaned before the failure; far in the past if it was not.
  [[nodiscard]] Instant cleaned_before(const std::string& node, Instant failed_at) const;
  void remember_suspicion(const FailureCase& failure, const Explanation& explanation);
  [[nodiscard]] std::vector<std::string> suspected_before(const AttemptRecord& record,
                                                          Instant failed_at) const;

  const Catalog& catalog_;
  AttemptTracker attempts_;
  ClockOffsets clocks_;
  std::map<AttemptId, Lines> lines_;
  std::set<AttemptId> open_;                   // failed, or gone and to be closed
  std::map<std::string, EventWindow> kernel_;  // by node
  std::set<std::string> heard_;
  std::map<std::string, Instant> down_;
  std::map<std::string, Instant> lost_;  // in words of the scheduler's log
  std::map<std::string, Instant> clean_since_;
  std::map<std::string, std::map<AttemptId, Suspicion>> suspicions_;  // by family
};

}  // namespace faultline
