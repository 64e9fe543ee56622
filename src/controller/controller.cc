#include "controller/controller.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

constexpr Duration judge_tick = std::chrono::milliseconds{100};
constexpr std::size_t detail_bytes_max = 300;  // in a line of the log

std::chrono::milliseconds ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

Event controller_event(EventKind kind, Subject subject, Instant now) {
  Event event;
  event.source = EventSource::controller;
  event.kind = kind;
  event.subject = std::move(subject);
  event.observed_at = now;
  event.received_at = now;
  event.clock = ClockDomain::controller;
  return event;
}

void log(const Decision& decision) {
  spdlog::info("{} {} {} {}: {}, {}; {}", decision.id, to_text(decision.ruling),
               to_text(decision.action.kind), decision.action.subject.text(),
               to_text(decision.reason), printable(decision.detail, detail_bytes_max),
               printable(decision.action.reason, detail_bytes_max));
}

}  // namespace

Controller::Controller(const Catalog& catalog, Store& store, Scheduler& scheduler,
                       Actuator& actuator, Notifier* notifier, const Clock& clock,
                       Counters& counters, ControllerOptions options)
    : catalog_(catalog),
      store_(store),
      scheduler_(scheduler),
      notifier_(notifier),
      clock_(clock),
      counters_(counters),
      options_(std::move(options)),
      journal_(store, clock),
      executor_(journal_, actuator, clock, counters, options_.limits.verdict_age_max),
      rulings_(catalog, options_.limits.lateness),
      speakers_(options_.scheduler_log_hosts, counters),
      judge_(catalog, options_.limits, options_.mode, options_.tests),
      notice_desk_(catalog, store) {}

Controller::~Controller() { stop(); }

Status Controller::start() {
  spdlog::default_logger();  // made while there is one thread
  const Instant now = clock_.now();
  auto history = load_history(store_, now - options_.limits.repeat_window);
  if (!history) return history.error();
  history_ = std::move(history).value();
  auto silences = load_silences(store_, now);
  if (!silences) return silences.error();
  history_.silences = std::move(silences).value();
  const auto states = store_.node_states();
  if (!states) return states.error();
  for (const auto& state : *states) node_states_[state.node] = state;
  resume_watch();
  FAULTLINE_TRY(replay(now));
  FAULTLINE_TRY(resume_outcomes(now));
  FAULTLINE_TRY(settle_open(Work::nodes));
  for (const Work work : all_work)
    FAULTLINE_TRY(resume_decided(work, now - options_.limits.repeat_window));
  threads_.emplace_back([this] { poll_loop(); });
  threads_.emplace_back([this] { judge_loop(); });
  for (const Work work : all_work) threads_.emplace_back([this, work] { work_loop(work); });
  threads_.emplace_back([this] { notify_loop(); });
  return ok_status();
}

void Controller::stop() {
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_judge_.notify_all();
  for (auto& line : lines_) line.wake.notify_all();
  wake_notify_.notify_all();
  wake_poll_.notify_all();
  threads_.clear();
  tell_the_rest();
}

Status Controller::take_events(const std::string& node, std::vector<Event> events) {
  {
    const std::lock_guard lock(mutex_);
    agents_[node] = clock_.now();  // it is alive, whatever becomes of what it says
    if (inbox_.size() + events.size() > options_.inbox_events_max) {
      counters_.add("controller_overload_total");
      return Error{ErrorCode::exhausted,
                   "the controller is behind; keep the events and send them again"};
    }
  }
  const Instant now = clock_.now();
  std::erase_if(events, [&](const Event& event) { return !speakers_.may_say(node, event); });
  correct_clocks(node, events);
  for (auto& event : events) event.received_at = now;
  auto fresh = store_.append_events(events);
  note_store(fresh ? ok_status() : Status(fresh.error()), "events");
  if (!fresh) return fresh.error();
  counters_.add("controller_events_total", fresh->size());
  counters_.add("controller_duplicate_events_total", events.size() - fresh->size());
  const std::lock_guard lock(mutex_);
  for (auto& event : fresh.value()) inbox_.push_back(std::move(event));
  wake_judge_.notify_one();
  return ok_status();
}

void Controller::correct_clocks(const std::string& node, std::vector<Event>& events) {
  const std::lock_guard lock(mutex_);
  if (clocks_.behind(node) == Duration{0}) return;
  for (auto& event : events) clocks_.correct(node, event);
  counters_.add("controller_clock_corrected_events_total", events.size());
}

void Controller::heartbeat(const std::string& node, Instant agent_now) {
  const Instant now = clock_.now();
  const std::lock_guard lock(mutex_);
  agents_[node] = now;
  if (!clocks_.heard(node, agent_now, now)) return;
  const Duration behind = clocks_.behind(node);
  if (behind == Duration{0}) {
    spdlog::info("the clock of {} is right again", node);
  } else {
    spdlog::warn(
        "the clock of {} is {} {} ours; what it says is taken for now: look at its time service",
        node, to_text(behind < Duration{0} ? -behind : behind),
        behind < Duration{0} ? "ahead of" : "behind");
  }
}

void Controller::take_counters(const std::string& node, const CounterValues& counters) {
  agent_counters_.heard(node, counters);
}

std::vector<RulingReport> Controller::rulings_for(const std::string& node, std::uint64_t& cursor) {
  return rulings_.reports_for(node, cursor);
}

ControllerHealth Controller::health() const {
  const std::lock_guard lock(mutex_);
  ControllerHealth health = health_;
  health.inbox_events = inbox_.size();
  health.agents = agents_.size() - lost_agents_.size();
  return health;
}

void Controller::note_store(const Status& status, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const bool was_writable = std::exchange(health_.store_writable, status.ok());
  if (status.ok()) {
    if (!was_writable) spdlog::info("the store can be written again");
    return;
  }
  health_.store_error = std::string(what) + ": " + status.error().message;
  if (was_writable) {
    spdlog::error(
        "the store cannot be written ({}); nothing is done that could not be written down first",
        health_.store_error);
  }
  counters_.add("controller_store_errors_total");
}

void Controller::store_and_inbox(std::vector<Event> events) {
  if (events.empty()) return;
  for (auto& event : events) {
    if (event.id.empty()) event.id = make_event_id(event);
  }
  auto fresh = store_.append_events(events);
  note_store(fresh ? ok_status() : Status(fresh.error()), "events");
  const std::lock_guard lock(mutex_);
  // With a full disk the facts are still judged: a drain decided on them needs its intent on disk,
  // and is refused there.
  for (auto& event : fresh ? fresh.value() : events) inbox_.push_back(event);
  wake_judge_.notify_one();
}

void Controller::poll_once() {
  const auto daemon_id = daemon_id_for_drains();
  auto view = scheduler_.view();
  if (!view) {
    counters_.add("controller_scheduler_errors_total");
    const std::lock_guard lock(mutex_);
    // At the start, too: nothing has answered yet.
    if (std::exchange(health_.scheduler_answers, false) || health_.scheduler_error.empty())
      spdlog::warn("the scheduler does not answer ({}); nothing is done without its view",
                   view.error().message);
    health_.scheduler_error = view.error().message;
    return;
  }
  auto events = watch_.update(*view);
  for (const auto& event : events) {
    const bool about_attempt =
        event.kind == EventKind::attempt_started || event.kind == EventKind::attempt_ended;
    const Attempt* attempt = about_attempt ? view->attempt(*event.attempt) : nullptr;
    if (attempt != nullptr) note_store(store_.put_attempt(*attempt), "attempt");
  }
  const auto lost_drains = reopen_lost_drains(*view, daemon_id);
  reopen_half_done(view->half_done);
  if (const auto strays = stray_drains_.look(*view, store_)) spdlog::warn("{}", *strays);
  std::vector<NodeState> moved;
  std::unique_lock order(node_order_);
  {
    const std::lock_guard lock(mutex_);
    if (!health_.scheduler_error.empty()) spdlog::info("the scheduler answers again");
    health_.scheduler_answers = true;
    health_.scheduler_error.clear();
    health_.view_taken_at = view->taken_at;
    for (const auto& [name, state] : node_states_) {
      const SchedulerNode* node = view->node(name);
      if (node == nullptr || lost_drains.contains(name)) continue;
      const auto next = after_view(state, *node, clock_.now());
      if (next) moved.push_back(*next);
    }
    for (const auto& state : moved) node_states_[state.node] = state;
    view_ = std::move(view).value();
    ++view_version_;
  }
  for (const auto& state : moved) note_store(store_.put_node_state(state), "node state");
  order.unlock();
  for (const auto& state : moved) {
    if (state.phase != NodePhase::returned) continue;
    // Somebody resumed it by the scheduler's own means: for the detectors it starts anew, as after
    // a return.
    Event back =
        controller_event(EventKind::person_request, Subject::of_node(state.node), clock_.now());
    back.fields = {{"request", std::string(to_text(RequestKind::return_node))},
                   {"target", state.node},
                   {"who", "scheduler"}};
    events.push_back(std::move(back));
  }
  store_and_inbox(std::move(events));
}

/// The scheduler's daemon that a young drain is to be remembered with; "" if there is none, or no
/// need.
std::string Controller::daemon_id_for_drains() {
  {
    const std::lock_guard lock(mutex_);
    if (options_.mode != Mode::act || !DrainWatch::any_young(node_states_, clock_.now())) return "";
  }
  const auto daemon_id = scheduler_.daemon_id();
  return daemon_id ? *daemon_id : "";
}

/// The nodes whose drain the scheduler lost, each with its intent open again: the next look at the
/// open intents carries it out.
std::set<std::string> Controller::reopen_lost_drains(const ClusterView& view,
                                                     const std::string& daemon_id_before) {
  NodeStates states;
  {
    const std::lock_guard lock(mutex_);
    states = node_states_;
  }
  drain_watch_.saw(states, view, daemon_id_before);
  const auto gone = drain_watch_.gone(states, view);
  if (gone.empty()) return {};
  const auto daemon_id = scheduler_.daemon_id();
  std::set<std::string> reopened;
  for (const auto& state : gone) {
    if (daemon_id && drain_watch_.lost(state.node, *daemon_id) && reopen_drain(state))
      reopened.insert(state.node);
  }
  return reopened;
}

bool Controller::reopen_drain(const NodeState& state) {
  const auto record = store_.action(state.action);
  if (!record) note_store(record.error(), "lost drain");
  if (!record || !*record) return false;
  const auto& outcome = (*record)->outcome;
  if (!outcome || outcome->status != OutcomeStatus::done) return !outcome || outcome->retryable;
  const auto reopened = store_.reopen_action(state.action, clock_.now());
  note_store(reopened, "lost drain");
  if (!reopened) return false;
  counters_.add("controller_drains_lost_total");
  spdlog::warn("the scheduler lost the drain of {} when its daemon was restarted; draining again",
               state.node);
  settle_soon(Work::nodes);
  return true;
}

void Controller::poll_loop() {
  Instant saved{};
  while (!stopping_) {
    poll_once();
    const Instant now = clock_.now();
    if (now - saved > std::chrono::seconds{5}) {
      saved = now;
      save_view();
    }
    std::unique_lock lock(mutex_);
    wake_poll_.wait_for(lock, ms(options_.scheduler_poll),
                        [this] { return stopping_ || poll_now_; });
    poll_now_ = false;
  }
}

void Controller::absorb(const std::vector<Event>& events, Instant now) {
  for (const auto& event : events) {
    judge_.observe(event);
    rulings_.observe(event, now);
    if (tells_of(event, RequestKind::return_node)) close_incidents_of(event.subject.node, now);
  }
}

void Controller::close_incidents_of(const std::string& node, Instant now) {
  for (const auto& incident : incidents_.close_of_node(node, now))
    note_store(store_.put_incident(incident), "incident");
}

void Controller::watch_agents(Instant now) {
  std::vector<Event> news;
  {
    const std::lock_guard lock(mutex_);
    if (view_.nodes.empty()) return;  // it cannot be told yet whose agents they are
    std::erase_if(agents_, [&](const auto& agent) {
      const auto& [node, heard] = agent;
      const bool silent = now - heard > options_.agent_lost_after;
      if (view_.node(node) == nullptr) return !watch_stranger(node, silent, news);
      strangers_.erase(node);
      if (!silent) {
        lost_agents_.erase(node);
      } else if (lost_agents_.insert(node).second) {
        news.push_back(controller_event(EventKind::agent_lost, Subject::of_node(node), now));
        news.back().fields = {{"last_heard", to_text(heard)}};
      }
      return false;
    });
    counters_.set("controller_agents_unknown", strangers_.size());
  }
  store_and_inbox(std::move(news));
}

bool Controller::watch_stranger(const std::string& node, bool silent, std::vector<Event>& news) {
  if (!silent) {
    lost_agents_.erase(node);
    if (strangers_.insert(node).second)
      spdlog::warn(
          "an agent reports for {}, and the scheduler knows no node of that name: nothing is done "
          "about it (--node of an agent is the name that the scheduler has)",
          node);
    return true;
  }
  strangers_.erase(node);
  counters_.add("controller_agents_unknown_lost_total");
  spdlog::warn("the agent of {} fell silent; the scheduler knows no node of that name", node);
  if (lost_agents_.erase(node) > 0) {
    news.push_back(controller_event(EventKind::node_seen, Subject::of_node(node), clock_.now()));
    news.back().fields = {{"state", "gone"}};
  }
  return false;
}

void Controller::judge_once() {
  std::vector<Event> events;
  std::vector<Outcome> settled;
  std::vector<VerdictId> to_tell;
  {
    std::unique_lock lock(mutex_);
    wake_judge_.wait_for(lock, ms(judge_tick),
                         [this] { return stopping_ || !inbox_.empty() || !settled_.empty(); });
    events.swap(inbox_);
    settled.swap(settled_);
    to_tell.swap(to_tell_);
    if (judged_view_version_ != view_version_) {
      judged_view_ = view_;
      judged_view_.node_states = node_states_;
      judged_view_version_ = view_version_;
    }
  }
  const Instant now = clock_.now();
  for (const auto& outcome : settled) set_outcome(history_, outcome);
  absorb(events, now);
  watch_agents(now);
  answer_requests();
  publish(judge_.evaluate(judged_view_, history_, now), now);
  forget_old(history_, now - options_.limits.repeat_window);
  rulings_.tick(now);
  tell_people(to_tell, now);
}

void Controller::judge_loop() {
  Instant retained{};
  while (!stopping_) {
    judge_once();
    const Instant now = clock_.now();
    if (now - retained > std::chrono::hours{1}) {
      retained = now;
      const auto removed = store_.retain(now, options_.keep);
      if (removed) counters_.add("store_events_retired_total", *removed);
    }
  }
}

void Controller::publish(Judgement judgement, Instant now) {
  // A requeue must not be seen before the drain that it waits for.
  std::stable_sort(judgement.decisions.begin(), judgement.decisions.end(),
                   [](const Decision& a, const Decision& b) {
                     return work_of(a.action.kind) < work_of(b.action.kind);
                   });
  for (const auto& verdict : judgement.verdicts) publish_verdict(verdict, now);
  for (const auto& decision : judgement.decisions) publish_decision(decision);
}

void Controller::publish_verdict(const Verdict& verdict, Instant now) {
  // First: a verdict that is stored is not published again, and would be in no incident.
  if (const auto incident = incidents_.add(verdict, now))
    note_store(store_.put_incident(*incident), "incident");
  note_store(store_.put_verdict(verdict), "verdict");
  counters_.add("controller_verdicts_total");
  const Cause* cause = catalog_.cause(verdict.cause);
  if (cause == nullptr || !blames_no_node(*cause))
    move_node([&](const NodeStates& states) { return after_verdict(states, verdict, now); });
  rulings_.verdict(verdict, judged_view_);
}

void Controller::publish_decision(const Decision& decision) {
  const auto stored = store_.put_decision(decision);
  note_store(stored, "decision");
  if (!stored) {
    // No act without its decision on record; the judge comes to it again.
    judge_.forget(decision.id);
    std::erase_if(history_.entries,
                  [&](const auto& entry) { return entry.action.id == decision.action.id; });
    return;
  }
  counters_.add("controller_decisions_total");
  rulings_.decision(decision);
  if (decision.ruling != Ruling::act && !wants_dry_run(decision)) return;
  log(decision);
  enqueue(decision);
}

void Controller::enqueue(Decision decision) {
  if (decision.action.kind == ActionKind::notify) {
    tell(decision);
    return;
  }
  const std::lock_guard lock(mutex_);
  auto& line = line_of(work_of(decision.action.kind));
  const bool queued =
      std::any_of(line.decisions.begin(), line.decisions.end(), [&](const Decision& other) {
        return other.action.id == decision.action.id &&
               (other.ruling == Ruling::act) == (decision.ruling == Ruling::act);
      });
  if (queued) return;
  line.decisions.push_back(std::move(decision));
  line.wake.notify_one();
}

void Controller::move_node(const std::function<std::optional<NodeState>(const NodeStates&)>& next) {
  const std::lock_guard order(node_order_);
  std::optional<NodeState> state;
  {
    const std::lock_guard lock(mutex_);
    state = next(node_states_);
    if (!state) return;
    node_states_[state->node] = *state;
    ++view_version_;
  }
  note_store(store_.put_node_state(*state), "node state");
}

}  // namespace faultline
