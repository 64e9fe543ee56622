// The controller as a library: agents' events and the scheduler's view in; verdicts, decisions,
// acts and notices out.
//
//   agents -> take_events -> store -> inbox -> judge (detectors, policy) -> acts -> executor ->
//   outcome -> inbox
//                                        ^ scheduler poll
//
// Threads: the transport's (take_events), one that polls the scheduler, one that judges, one for
// each kind of work (acts on nodes, acts on jobs, tests), one that notifies. What they share is
// guarded by `mutex_`, which is never held while the store, the scheduler, an actuator or a
// detector is called.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "act/executor.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/action_log.h"
#include "controller/agent_counters.h"
#include "controller/drain_watch.h"
#include "controller/incidents.h"
#include "controller/judge.h"
#include "controller/node_clocks.h"
#include "controller/node_life.h"
#include "controller/notice_desk.h"
#include "controller/ports.h"
#include "controller/rulings.h"
#include "controller/scheduler_watch.h"
#include "controller/speakers.h"
#include "controller/stray_drains.h"
#include "store/store.h"

namespace faultline {

struct ControllerOptions {
  Mode mode = Mode::observe;
  PolicyLimits limits;
  Duration scheduler_poll = std::chrono::milliseconds{1000};
  Duration agent_lost_after = std::chrono::seconds{30};
  Retention keep;
  std::size_t inbox_events_max = 100000;      // beyond this agents are told to keep their spool
  std::set<std::string> scheduler_log_hosts;  // agents that report the scheduler's log
  NodeTests tests;                            // the actuator's node test, and what it is used for
};

/// Where the controller stands, for /healthz and doctor.
struct ControllerHealth {
  bool scheduler_answers = false;
  std::string scheduler_error;
  Instant view_taken_at;
  bool store_writable = true;
  std::string store_error;
  std::size_t inbox_events = 0;
  std::size_t agents = 0;
};

class Controller final : public AgentIngress, public OperatorIngress {
 public:
  /// All must outlive the controller. `notifier` may be nullptr.
  Controller(const Catalog& catalog, Store& store, Scheduler& scheduler, Actuator& actuator,
             Notifier* notifier, const Clock& clock, Counters& counters, ControllerOptions options);
  ~Controller() override;

  /// Settles open intents, replays the recent past into the detectors, then starts the threads.
  Status start();
  /// Stops the threads; an act that is running is waited for, and for a moment what is on its way
  /// to people.
  void stop();

  Status take_events(const std::string& node, std::vector<Event> events) override;
  void heartbeat(const std::string& node, Instant agent_now) override;
  void take_counters(const std::string& node, const CounterValues& counters) override;
  std::vector<RulingReport> rulings_for(const std::string& node, std::uint64_t& cursor) override;
  Result<PersonAnswer> operate(const std::string& who, RequestKind kind,
                               const std::string& target) override;

  [[nodiscard]] ControllerHealth health() const;
  [[nodiscard]] const AgentCounters& agent_counters() const { return agent_counters_; }

 private:
  void resume_watch();
  Status replay(Instant now);
  Result<std::vector<Verdict>> replay_verdicts(Instant since, Instant now);
  Status replay_running_attempts(Instant since);
  Status replay_events(Instant since, Instant now, const std::vector<Verdict>& verdicts);
  /// Puts in line what was decided and not begun. On the thread that does the work, or before it.
  Status resume_decided(Work work, Instant since);
  /// False of what is to be left alone, or was begun.
  Result<bool> to_be_resumed(const Decision& decision);
  /// In mode suggest a person approved it; what a bolder life decided is left alone.
  [[nodiscard]] bool may_act(const Decision& decision) const {
    return options_.mode == Mode::act ||
           (options_.mode == Mode::suggest && decision.mode == Mode::suggest);
  }
  /// Settles every intent of this work without a final outcome, by asking. On the thread that does
  /// the work when it is idle; those on nodes before anything else, too.
  Status settle_open(Work work);
  /// Killed between an outcome and what follows from it: the node's state, the result as an event,
  /// and that people are told.
  Status resume_outcomes(Instant now);
  void poll_loop();
  void judge_loop();
  void work_loop(Work work);
  [[nodiscard]] bool may_begin(Work work) const;
  std::optional<Decision> next_decision(Work work);
  void leave_line(Work work);
  struct Line {
    std::deque<Decision> decisions;  // the first one may be under way
    bool settle_now = false;         // look at the open intents without waiting
    std::condition_variable wake;
  };
  Line& line_of(Work work) { return lines_.at(static_cast<std::size_t>(work)); }
  void notify_loop();

  void poll_once();
  void save_view();
  std::string daemon_id_for_drains();
  std::set<std::string> reopen_lost_drains(const ClusterView& view,
                                           const std::string& daemon_id_before);
  bool reopen_drain(const NodeState& state);
  void reopen_half_done(const std::vector<ActionId>& acts);
  bool reopen_half_done(const ActionId& id);
  void note_unknown_act(const ActionId& id);
  /// The next look at the open intents is now.
  void settle_soon(Work work);
  void judge_once();
  void absorb(const std::vector<Event>& events, Instant now);
  void close_incidents_of(const std::string& node, Instant now);
  void watch_agents(Instant now);
  /// The agent of a node that the scheduler does not know. False once it is silent and forgotten:
  /// nobody could ever say more about that node. Under the lock.
  bool watch_stranger(const std::string& node, bool silent, std::vector<Event>& news);
  void answer_requests();
  void publish(Judgement judgement, Instant now);
  void publish_verdict(const Verdict& verdict, Instant now);
  void publish_decision(const Decision& decision);
  void carry_out(const Decision& decision);
  /// Has the actuator say which commands it would run, and does nothing.
  void rehearse(const Decision& decision);
  void finish(const Decision& decision, const Outcome& outcome);
  /// What an outcome means for the node and for the detectors. Safe to repeat.
  void follow(const Decision& decision, const Outcome& outcome);
  /// What an act means for the detectors: a test's result, or a node that starts anew.
  [[nodiscard]] std::optional<Event> follow_event(const Decision& decision,
                                                  const Outcome& outcome) const;
  /// False once the verdict behind it was taken back.
  bool still_stands(const Decision& decision);
  /// Has the judge look at what people are to be told of this decision's incident.
  void tell(const Decision& decision);
  void tell_people(const std::vector<VerdictId>& verdicts, Instant now);
  void notify(const Notice& notice);
  void store_delivered();
  /// When the threads have ended.
  void tell_the_rest();
  /// Moves a node on from the states as they are now; `next` is called under the lock.
  void move_node(const std::function<std::optional<NodeState>(const NodeStates&)>& next);
  void enqueue(Decision decision);
  void store_and_inbox(std::vector<Event> events);
  void correct_clocks(const std::string& node, std::vector<Event>& events);
  void note_store(const Status& status, std::string_view what);
  /// Of what may not have written anything: that it went well says nothing of the disk.
  void note_read(const Status& status, std::string_view what) {
    if (!status) note_store(status, what);
  }
  Result<std::string> answer_decision(const std::string& who, bool approve,
                                      const std::string& target);
  PersonAnswer answer_request(const PersonRequest& request);
  PersonAnswer answer_return(const PersonRequest& request);
  Status rule_on_asked_return(const Decision& asked);
  void publish_return(const Decision& decision);
  Result<std::string> answer_repair(const PersonRequest& request);
  Result<std::string> answer_silence(const PersonRequest& request);
  Result<std::string> answer_unsilence(const PersonRequest& request);

  const Catalog& catalog_;
  Store& store_;
  Scheduler& scheduler_;
  Notifier* notifier_;
  const Clock& clock_;
  Counters& counters_;
  ControllerOptions options_;

  StoreJournal journal_;
  Executor executor_;
  RulingBoard rulings_;
  Speakers speakers_;
  Judge judge_;             // judge thread only, after start
  SchedulerWatch watch_;    // poll thread only, after start
  DrainWatch drain_watch_;  // of the polling thread
  StrayDrains stray_drains_;
  std::set<ActionId> unknown_acts_;  // of the polling thread: shown half done, not in the store
  IncidentBook incidents_;           // judge thread only, after start
  NoticeDesk notice_desk_;           // judge thread only, after start
  ActionHistory history_;            // judge thread only, after start
  ClusterView judged_view_;  // judge thread only: its copy of view_ with the node states in it
  std::uint64_t judged_view_version_ = 0;

  // Held while a node's state is changed and stored, so that the store keeps the newest one whoever
  // wrote it. Taken before `mutex_`.
  std::mutex node_order_;
  mutable std::mutex mutex_;
  std::condition_variable wake_judge_, wake_notify_, wake_poll_;
  std::vector<Event> inbox_;
  std::array<Line, all_work.size()> lines_;
  std::vector<VerdictId> to_tell_;  // from those who work to the judge
  std::deque<Notice> notices_;
  std::vector<Outcome>
      settled_;  // outcomes on their way from those who work to the judge's history
  ClusterView view_;
  NodeStates node_states_;
  std::uint64_t view_version_ = 1;         // counts changes of view_ and node_states_
  std::map<std::string, Instant> agents_;  // node -> last heartbeat
  std::set<std::string> lost_agents_;
  std::set<std::string> strangers_;  // agents of nodes that the scheduler does not know
  NodeClocks clocks_;
  AgentCounters agent_counters_{counters_};
  ControllerHealth health_;
  bool poll_now_ = false;

  std::atomic<bool> stopping_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace faultline
