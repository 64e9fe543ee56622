#include "detect/verdict_book.h"

#include <algorithm>

#include "base/contains.h"

namespace faultline {
namespace {

std::string key_of(const Verdict& verdict) {
  return verdict.cause + '|' + verdict.subject.text() + '|' +
         (verdict.attempt ? verdict.attempt->text() : "");
}

bool asks_for_node(const Verdict& verdict, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  return cause != nullptr && concerns_node(cause->remedy) && concerns_node(verdict.subject);
}

/// True if a verdict in `holding` still says that the node is broken, and on the same first
/// evidence.
bool absorbed(const Verdict& old, const std::vector<Verdict>& holding, const Catalog& catalog) {
  if (old.status != VerdictStatus::confirmed || !asks_for_node(old, catalog) ||
      old.evidence.empty())
    return false;
  return std::any_of(holding.begin(), holding.end(), [&](const Verdict& other) {
    return other.subject.node == old.subject.node && asks_for_node(other, catalog) &&
           other.status == VerdictStatus::confirmed &&
           (contains(other.evidence, old.evidence.front()) ||
            contains(other.consequences, old.evidence.front()));
  });
}

/// True if a verdict in `holding` explains what the old one took for a program's doing: it rests on
/// the same line, and on others that came since.
bool taken_over(const Verdict& old, const std::vector<Verdict>& holding, const Catalog& catalog) {
  const Cause* cause = catalog.cause(old.cause);
  if (cause == nullptr || !blames_no_node(*cause) || old.evidence.empty()) return false;
  return std::any_of(holding.begin(), holding.end(), [&](const Verdict& other) {
    return contains(other.evidence, old.evidence.front());
  });
}

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

void VerdictBook::settle(const std::string& scope, std::vector<Verdict> holding,
                         const Catalog& catalog, Instant now, VerdictSink& sink) {
  Raised& raised = raised_[scope];
  Raised kept;
  for (Verdict& verdict : holding) {
    verdict.detector = detector_;
    if (verdict.since > now) verdict.since = now;
    const std::string key = key_of(verdict);
    const auto old = raised.find(key);
    verdict.id = old == raised.end() ? make_verdict_id(verdict) : old->second.id;
    const Instant as_of = known(verdict.updated_at) ? std::min(verdict.updated_at, now) : now;
    if (old != raised.end()) verdict.updated_at = old->second.updated_at;
    if (old == raised.end() || !(verdict == old->second)) {
      verdict.updated_at = as_of;
      sink.verdict(verdict);
    }
    kept.insert_or_assign(key, verdict);
  }
  for (auto& [key, old] : raised) {
    if (kept.contains(key)) continue;
    if (absorbed(old, holding, catalog)) {
      kept.emplace(key, old);
      continue;
    }
    // Evidence that only grew too old to remember was not taken back: a broken node does not heal
    // by being forgotten.
    const bool forgotten = now - old.since >= catalog.policy().limits.repeat_window;
    if (forgotten && !taken_over(old, holding, catalog)) continue;
    old.status = VerdictStatus::cleared;
    old.acts_at_once = false;
    old.updated_at = now;
    sink.verdict(old);
  }
  raised = std::move(kept);
  if (raised.empty()) raised_.erase(scope);
}

void add_evidence(Verdict& verdict, const Event& event) {
  if (verdict.evidence.size() < verdict_events_max) add_once(verdict.evidence, event.id);
  add_once(verdict.witnesses, event.source);
  if (!event.reporter.empty() && verdict.reporters.size() < verdict_events_max) {
    add_once(verdict.reporters, event.reporter);
  }
}

void add_consequence(Verdict& verdict, const Event& event) {
  if (verdict.consequences.size() < verdict_events_max) add_once(verdict.consequences, event.id);
}

}  // namespace faultline
