// The acting half of the controller: carrying decisions out, and telling people.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "controller/controller.h"
#include "model/names.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

constexpr std::size_t notices_max = 1000;
/// How long a stop waits for what is on its way to people; the next life tells the rest.
constexpr Duration flush_wait = std::chrono::seconds{2};
/// How often, while there is nothing else to do, outcomes that are unknown are asked for again.
constexpr auto settle_interval = std::chrono::seconds{5};

constexpr std::size_t outcome_bytes_max = 1000;  // in a line of the log

/// Drains go before everything else: a node that is out of scheduling cannot hurt the next job. A
/// dry run waits for all that is done.
bool goes_first(const Decision& a, const Decision& b) {
  const auto place = [](const Decision& decision) {
    if (decision.ruling != Ruling::act) return 2;
    return decision.action.kind == ActionKind::drain_node ? 0 : 1;
  };
  return place(a) < place(b);
}

void log(const Decision& decision, const Outcome& outcome) {
  const auto commands = outcome.commands.empty() ? "" : "; $ " + join(outcome.commands, "; $ ");
  const auto status =  // of a dry run nobody wants to read "done"
      decision.ruling == Ruling::act ? std::string(to_text(outcome.status)) + ", " : "";
  spdlog::info("{} {} {}: {}{}", decision.id, to_text(decision.action.kind),
               decision.action.subject.text(), status,
               printable(outcome.detail + commands, outcome_bytes_max));
}

}  // namespace

/// A job is let go only when the drains decided so far are carried out: the scheduler would start
/// the next one on the nodes that it leaves.
bool Controller::may_begin(Work work) const {
  const auto empty = [this](Work one) {
    return lines_.at(static_cast<std::size_t>(one)).decisions.empty();
  };
  return !empty(work) && (work != Work::jobs || empty(Work::nodes));
}

/// Nothing when it stops, or when there was nothing to do for a while. What is given stays at the
/// head of its line until it is done, so that nobody puts it in line again.
std::optional<Decision> Controller::next_decision(Work work) {
  std::unique_lock lock(mutex_);
  auto& line = line_of(work);
  line.wake.wait_for(lock, settle_interval, [&] {
    return stopping_ || may_begin(work) || std::exchange(line.settle_now, false);
  });
  // What was not begun is found again: its decision is stored, its intent is not.
  if (stopping_ || !may_begin(work)) return std::nullopt;
  const auto next = std::min_element(line.decisions.begin(), line.decisions.end(), goes_first);
  std::rotate(line.decisions.begin(), next, next + 1);
  return line.decisions.front();
}

void Controller::leave_line(Work work) {
  const std::lock_guard lock(mutex_);
  line_of(work).decisions.pop_front();
  line_of(Work::jobs).wake.notify_one();
}

void Controller::work_loop(Work work) {
  if (work != Work::nodes) note_read(settle_open(work), "open intents");
  while (!stopping_) {
    if (const auto decision = next_decision(work)) {
      carry_out(*decision);
      leave_line(work);
    } else if (!stopping_) {
      note_read(settle_open(work), "open intents");
      note_read(resume_decided(work, clock_.now() - options_.limits.verdict_age_max), "decisions");
    }
  }
}

void Controller::rehearse(const Decision& decision) {
  Action action = decision.action;
  action.dry_run = true;
  const Outcome outcome = executor_.run(action);
  log(decision, outcome);
  note_store(put_dry_run(store_, decision.id, outcome), "dry run");
  tell(decision);
}

void Controller::carry_out(const Decision& decision) {
  if (decision.ruling != Ruling::act) return rehearse(decision);
  if (!still_stands(decision)) {
    counters_.add("controller_acts_dropped_total");  // taken back while it waited in line
    return;
  }
  const auto& action = decision.action;
  if (work_of(action.kind) == Work::tests) {
    move_node([&](const NodeStates& states) {
      return before_test(states, action.subject.node, clock_.now());
    });
  }
  finish(decision, executor_.run(action));
}

bool Controller::still_stands(const Decision& decision) {
  if (decision.action.kind == ActionKind::return_node) return true;
  const auto verdict = store_.verdict(decision.verdict);
  return !verdict || !*verdict || (*verdict)->status != VerdictStatus::cleared;
}

Status Controller::settle_open(Work work) {
  if (options_.mode == Mode::observe) return ok_status();
  // What a bolder life began is left for the next one to settle.
  const auto may_not = [this](const Action& action) {
    const auto decision = store_.decision(action.decision);
    return decision && *decision && !may_act(**decision);
  };
  const auto wanted = [this](const Action& action) {
    const auto decision = store_.decision(action.decision);
    return !decision || !*decision || still_stands(**decision);
  };
  for (const auto& outcome : executor_.recover(work, wanted, may_not)) {
    const bool ask_again =
        outcome.retryable || (outcome.status == OutcomeStatus::unknown && work != Work::tests);
    if (ask_again) continue;  // no news
    const auto record = store_.action(outcome.action);
    if (!record) return record.error();
    if (!*record) continue;
    const auto decision = store_.decision((*record)->action.decision);
    if (!decision) return decision.error();
    if (*decision) finish(**decision, outcome);
  }
  return ok_status();
}

void Controller::finish(const Decision& decision, const Outcome& outcome) {
  log(decision, outcome);
  counters_.add("controller_actions_" + std::string(to_text(outcome.status)) + "_total");
  {
    const std::lock_guard lock(mutex_);
    settled_.push_back(outcome);
    poll_now_ = true;  // the view should show the act soon
  }
  wake_poll_.notify_one();
  follow(decision, outcome);
  rulings_.outcome(outcome);
  tell(decision);
}

void Controller::follow(const Decision& decision, const Outcome& outcome) {
  move_node([&](const NodeStates& states) { return after_outcome(states, decision, outcome); });
  Event event;
  event.source = EventSource::controller;
  event.kind = EventKind::outcome;
  event.subject = decision.action.subject;
  event.attempt = decision.action.attempt;
  event.observed_at = outcome.at;
  event.received_at = clock_.now();
  event.clock = ClockDomain::controller;
  event.fields = {{"action", outcome.action},
                  {"kind", std::string(to_text(decision.action.kind))},
                  {"status", std::string(to_text(outcome.status))},
                  {"detail", outcome.detail.substr(0, field_bytes_max)}};
  std::vector<Event> events = {event};
  if (auto follow = follow_event(decision, outcome)) events.push_back(std::move(*follow));
  store_and_inbox(std::move(events));
}

std::optional<Event> Controller::follow_event(const Decision& decision,
                                              const Outcome& outcome) const {
  const bool tested = decision.action.kind == ActionKind::test_node &&
                      outcome.status != OutcomeStatus::unknown && !outcome.retryable;
  const bool returned =
      decision.action.kind == ActionKind::return_node && outcome.status == OutcomeStatus::done;
  if (!tested && !returned) return std::nullopt;
  Event event;
  event.source = EventSource::controller;
  event.kind = tested ? EventKind::test_finished : EventKind::person_request;
  event.subject = decision.action.subject;
  event.observed_at = outcome.at;
  event.received_at = clock_.now();
  event.clock = ClockDomain::controller;
  if (tested) {
    event.fields = {{"exit_code", outcome.status == OutcomeStatus::done ? "0" : "1"},
                    {"action", outcome.action}};
    event.raw.path = "node test";
    event.raw.text = outcome.detail;
  } else {
    event.fields = {{"request", std::string(to_text(RequestKind::return_node))},
                    {"target", decision.action.subject.node},
                    {"who", decision.detail}};
  }
  return event;
}

void Controller::tell(const Decision& decision) {
  if (notifier_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  to_tell_.push_back(decision.verdict);
}

void Controller::tell_people(const std::vector<VerdictId>& verdicts, Instant now) {
  if (notifier_ == nullptr) return;
  store_delivered();
  for (const auto& verdict : verdicts) {
    if (const Incident* incident = incidents_.of(verdict)) notice_desk_.look_at(incident->id, now);
  }
  auto due = notice_desk_.due(incidents_, now);
  note_read(due.trouble, "notices");
  const std::lock_guard lock(mutex_);
  for (auto& notice : due.notices) {
    if (notices_.size() >= notices_max) {
      notices_.pop_front();
      counters_.add("controller_notices_dropped_total");
    }
    notices_.push_back(std::move(notice));
    wake_notify_.notify_one();
  }
}

/// Only now: of what a killed controller had merely sent off nobody knows whether it came.
void Controller::store_delivered() {
  for (const auto& delivered : notifier_->take_delivered()) {
    if (const auto incident = incidents_.told(delivered))
      note_store(store_.put_incident(*incident), "incident");
  }
}

void Controller::notify(const Notice& notice) {
  const auto sent = notifier_->notify(notice);
  counters_.add(sent ? "controller_notices_total" : "controller_notices_failed_total");
}

void Controller::tell_the_rest() {
  if (notifier_ == nullptr) return;
  tell_people(std::exchange(to_tell_, {}), clock_.now());
  for (const auto& notice : std::exchange(notices_, {})) notify(notice);
  notifier_->flush(flush_wait);
  store_delivered();
}

void Controller::notify_loop() {
  while (true) {
    Notice notice;
    {
      std::unique_lock lock(mutex_);
      wake_notify_.wait(lock, [this] { return stopping_ || !notices_.empty(); });
      if (stopping_) return;
      notice = std::move(notices_.front());
      notices_.pop_front();
    }
    notify(notice);
  }
}

}  // namespace faultline
