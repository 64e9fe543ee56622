#include "detect/second_witness.h"

#include <algorithm>

#include "base/contains.h"

namespace faultline {
namespace {

constexpr std::size_t shaken_nodes_max = 65536;
constexpr std::size_t shaken_events_max = 16;  // of a node
constexpr std::size_t words_max = 4096;
/// A node that broke under an attempt is up again, and says so, within this.
constexpr Duration reboot_max = std::chrono::minutes{10};

bool is_shaken(const Event& event) {
  if (event.kind == EventKind::node_boot) return event.source == EventSource::agent;
  return event.kind == EventKind::node_seen && event.source == EventSource::scheduler &&
         says_down(event) && event.field("drained") != "true" && event.field("was_down") != "true";
}

bool same_program(const AttemptRecord& attempt, const Blame& blame) {
  if (attempt.family() == blame.family) return true;
  return !blame.user.empty() && attempt.user == blame.user && !blame.name.empty() &&
         attempt.name == blame.name;
}

Duration lived(const Blame& blame) {
  return known(blame.started_at) ? blame.at - blame.started_at : Duration{0};
}

bool went_on(const AttemptRecord& attempt, Duration lived_min, Instant since, Instant now) {
  if (!known(attempt.started_at)) return false;
  const bool completed = attempt.end && attempt.state == AttemptState::completed;
  if (attempt.end && !completed) return false;
  const Instant until = completed ? attempt.end->at : now;
  const Duration life = until - attempt.started_at;
  return until > since && life >= (completed ? lived_min : std::max(lived_min, ran_on_min));
}

const AttemptRecord* went_on_without(const std::string& node, const Blame& blame, Instant since,
                                     const AttemptTracker& attempts, Instant now) {
  return attempts.find_if([&](const AttemptRecord& attempt) {
    const auto& nodes = attempt.nodes;
    return attempt.id != blame.attempt && !nodes.empty() && same_program(attempt, blame) &&
           !contains(nodes, node) && went_on(attempt, lived(blame), since, now);
  });
}

Testimony own_word(const AttemptRecord& attempt, const Blame& blame, const std::string& node) {
  Testimony testimony{Testimony::Kind::own_word, {}, blame.user, {}, {}, {}};
  if (testimony.user.empty()) testimony.user = blame.family;
  testimony.text = attempt.id.text() + (attempt.end ? " was completed" : " goes on") + " without " +
                   node + ", so it is not the program";
  testimony.proof = attempt.end ? attempt.end->event : Event{};
  if (!attempt.end) {
    testimony.proof->id = attempt.start_event;
    testimony.proof->source = EventSource::scheduler;
  }
  return testimony;
}

/// False if the two rest on ambiguous lines that do not support each other, or that are about other
/// nodes as well.
bool names_broken_hardware(const Blame& a, const Blame& b, const std::string& node) {
  for (const Blame* blame : {&a, &b}) {
    if (blame->ambiguous() && !blame->seen_from_outside(node)) return false;
  }
  const auto clear = [](const Blame& blame) { return blame.hardware && !blame.ambiguous(); };
  return clear(a) || clear(b) || (a.hardware && b.hardware && a.cause == b.cause);
}

}  // namespace

bool Blame::told_from_outside() const {
  return hardware &&
         (evidence.source == EventSource::kernel_log || evidence.source == EventSource::nvml ||
          evidence.source == EventSource::scheduler);
}

void SecondWitness::observe(const Event& event) {
  if (!is_shaken(event)) return;
  const std::string& node = node_of(event);
  if (shaken_.size() >= shaken_nodes_max && !shaken_.contains(node)) shaken_.erase(shaken_.begin());
  EventWindow& window = shaken_.try_emplace(node, shaken_events_max).first->second;
  window.forget_before(learnt_at(event) - catalog_.policy().limits.repeat_window);
  window.add(event);
}

const Event* SecondWitness::shaken(const Blame& blame, const std::string& node) const {
  const auto window = shaken_.find(node);
  if (window == shaken_.end()) return nullptr;
  // From before the attempt it is somebody's maintenance.
  const Instant from = known(blame.started_at) ? blame.started_at : blame.at;
  for (const Fact& fact : window->second.facts()) {
    if (fact.at >= from && fact.at <= blame.at + reboot_max) return &fact.event;
  }
  return nullptr;
}

Testimony SecondWitness::between(const Blame& a, const Blame& b, const std::string& node,
                                 const AttemptTracker& attempts, Instant now) const {
  using Kind = Testimony::Kind;
  if ((!a.hardware && !b.hardware) || a.program || b.program) return {};
  const bool broken = names_broken_hardware(a, b, node);
  if (broken && (a.seen_from_outside(node) || b.seen_from_outside(node)))
    return {Kind::independent, "broken hardware was seen from outside the jobs", {}, {}, {}, {}};
  for (const Blame* blame : {&a, &b}) {
    if (const Event* event = shaken(*blame, node))
      return {Kind::independent,
              node + " went down under " + blame->attempt.text(),
              {},
              *event,
              {},
              {}};
  }
  if (!broken) return {};
  if (!a.user.empty() && !b.user.empty() && a.user != b.user)
    return {Kind::independent, "they belong to " + a.user + " and " + b.user, {}, {}, {}, {}};
  for (const Blame* blame : {&a, &b}) {
    if (const AttemptRecord* other = went_on_without(node, *blame, a.at, attempts, now))
      return own_word(*other, *blame, node);
  }
  return {};
}

bool SecondWitness::expired(const Word& word, Instant now) const {
  return now - word.at > catalog_.policy().limits.repeat_window;
}

bool SecondWitness::word_spent(const std::string& user, Instant now) const {
  const auto word = spent_.find(user);
  return word != spent_.end() && !expired(word->second, now);
}

bool SecondWitness::spend_word(const std::string& user, const std::string& node, Instant now) {
  const auto word = spent_.find(user);
  if (word != spent_.end() && word->second.node == node) return true;
  if (word_spent(user, now)) return false;
  if (spent_.size() >= words_max)
    std::erase_if(spent_, [&](const auto& entry) { return expired(entry.second, now); });
  if (spent_.size() >= words_max) return false;
  spent_[user] = {node, now};
  return true;
}

}  // namespace faultline
