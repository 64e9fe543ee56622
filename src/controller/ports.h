// Ports of the controller. Adapters implement them; apps choose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter_values.h"
#include "base/result.h"
#include "base/time.h"
#include "model/action.h"
#include "model/cluster_view.h"
#include "model/event.h"
#include "model/incident.h"
#include "model/person_request.h"
#include "model/verdict.h"

namespace faultline {

/// The scheduler's state, read only. Called from one thread of the controller, about once a second.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// A fresh view (node_states left empty). unavailable or deadline_exceeded when the scheduler
  /// does not answer.
  virtual Result<ClusterView> view() = 0;
  /// Names the daemon that answers: another one after each restart and failover. not_found for a
  /// scheduler whose acknowledged changes cannot be lost.
  virtual Result<std::string> daemon_id() {
    return Error{ErrorCode::not_found, "this scheduler loses nothing"};
  }
};

/// What the controller tells people: one for an incident, and another when what is done about it
/// changed.
struct Notice {
  std::string title;  // "n3 drained: Uncorrectable ECC error in GPU memory"
  Incident incident;
  Verdict verdict;                  // the one behind what the title says
  std::vector<Decision> decisions;  // on all verdicts of the incident
  std::vector<Outcome> outcomes;
  std::vector<Outcome> dry_runs;  // where nothing is run by itself: the commands that would be
  std::string next_step;
};
/// notify() is called from one thread, the rest from any.
class Notifier {
 public:
  virtual ~Notifier() = default;
  /// ok: it is on its way. Must return within its own deadline.
  virtual Status notify(const Notice& notice) = 0;
  /// The incidents of the notices that have reached people since the last call, as those notices
  /// have them, in order.
  virtual std::vector<Incident> take_delivered() = 0;
  /// Waits until nothing is on its way any more, and not longer than this.
  virtual bool flush(Duration deadline) = 0;
};

/// What `faultline run` is told about its attempt, relayed by the node's agent.
struct RulingReport {
  AttemptId attempt;
  bool final = false;  // nothing more will be done: the exit need not be withheld any longer
  std::string text;    // a few lines for the job's own output
};

/// What comes in from agents; implemented by the controller, called by the transport from any
/// thread.
class AgentIngress {
 public:
  virtual ~AgentIngress() = default;
  /// `node` is the name that the transport proved (certificate), never what the message claims.
  /// Takes the events durably; on an error the agent keeps them and sends them again.
  virtual Status take_events(const std::string& node, std::vector<Event> events) = 0;
  virtual void heartbeat(const std::string& node, Instant agent_now) = 0;
  /// Counters of the node's agent that changed.
  virtual void take_counters(const std::string& node, const CounterValues& counters) = 0;
  /// Rulings for attempts that have ranks on `node`, decided since `cursor`; moves the cursor.
  virtual std::vector<RulingReport> rulings_for(const std::string& node, std::uint64_t& cursor) = 0;
};

/// What a person may ask of the controller; the transport has checked the operator role and passes
/// who it is.
class OperatorIngress {
 public:
  virtual ~OperatorIngress() = default;
  /// target: of approve and deny a decision's id, of a return the node, else see
  /// store/person_request.h.
  virtual Result<PersonAnswer> operate(const std::string& who, RequestKind kind,
                                       const std::string& target) = 0;
};

}  // namespace faultline
