#include "detect/node_remarks.h"

#include <algorithm>
#include <utility>

#include "detect/confidence.h"
#include "detect/kernel_faults.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t nodes_max = 65536;
constexpr std::size_t remarks_per_node_max = 64;
constexpr std::size_t shared_nodes_min = 3;
/// Nodes that lost their power together come back one after the other, and a scheduler hears of
/// each as it does.
constexpr Duration shared_span = reboots_together_max;

std::string scope_of(const std::string& node) { return node + "|remarks"; }
std::string shared_scope_of(const std::string& cause) { return "|shared " + cause; }

}  // namespace

bool NodeRemarks::observe(const Event& event, const std::string& cause) {
  const std::string& node = event.subject.node;
  if (catalog_.cause(cause) == nullptr) return false;
  if (remarks_.size() >= nodes_max && !remarks_.contains(node)) return false;
  EventWindow& remarks = remarks_.try_emplace(node, remarks_per_node_max).first->second;
  remarks.forget_before(learnt_at(event) - catalog_.policy().limits.repeat_window);
  if (!remarks.add(event)) return false;
  news_.insert(node);
  return true;
}

void NodeRemarks::forget(const std::string& node) {
  remarks_.erase(node);
  news_.erase(node);
  book_.forget(scope_of(node));
}

bool NodeRemarks::said(const std::string& node, std::string_view cause, Instant from, Instant until,
                       Instant learnt_until) const {
  const auto remarks = remarks_.find(node);
  if (remarks == remarks_.end()) return false;
  const auto& facts = remarks->second.facts();
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    return catalog_.signature(fact.event.signature)->cause == cause && fact.at >= from &&
           fact.at <= until && fact.arrived <= learnt_until;
  });
}

Instant NodeRemarks::evaluate(Instant now, VerdictSink& verdicts) {
  settling_until_ = {};
  if (!news_.empty()) find_shared(now, verdicts);
  for (const std::string& node : std::exchange(news_, {})) judge(node, now, verdicts);
  return settling_until_;
}

/// The first that was said of each node, by cause and in order of time.
std::map<std::string, std::vector<NodeRemarks::Remark>> NodeRemarks::first_remarks() const {
  std::map<std::string, std::map<std::string, Remark>> first;
  for (const auto& [node, remarks] : remarks_) {
    for (const Fact& fact : remarks.facts()) {
      const Signature* signature = catalog_.signature(fact.event.signature);
      Remark& remark = first[signature->cause][node];
      if (remark.event == nullptr || fact.at < remark.at) remark = {fact.at, node, &fact.event};
    }
  }
  std::map<std::string, std::vector<Remark>> sorted;
  for (auto& [cause, nodes] : first) {
    std::vector<Remark>& remarks = sorted[cause];
    for (auto& [node, remark] : nodes) remarks.push_back(std::move(remark));
    std::sort(remarks.begin(), remarks.end());
  }
  return sorted;
}

void NodeRemarks::find_shared(Instant now, VerdictSink& verdicts) {
  NodesByCause shared;
  std::map<std::string, std::vector<Verdict>> holding;
  for (const auto& [cause, nodes] : shared_) holding[cause];  // what no longer holds is taken back
  for (const auto& [cause, remarks] : first_remarks()) {
    std::vector<Remark> together;
    for (std::size_t first = 0, next = 0; next < remarks.size(); ++next) {
      while (remarks[next].at - remarks[first].at > shared_span) ++first;
      if (next - first + 1 < shared_nodes_min) continue;
      for (std::size_t i = first; i <= next; ++i) {
        if (shared[cause].insert(remarks[i].node).second) together.push_back(remarks[i]);
      }
    }
    if (!together.empty()) holding[cause].push_back(shared_verdict(cause, together));
  }
  for (auto& [cause, verdict] : holding)
    book_.settle(shared_scope_of(cause), std::move(verdict), catalog_, now, verdicts);
  shared_nodes_.clear();
  for (const auto& [cause, nodes] : shared) {
    shared_nodes_.insert(nodes.begin(), nodes.end());
    // What was said of them one by one is no longer said.
    if (shared_[cause] != nodes) news_.insert(nodes.begin(), nodes.end());
  }
  shared_ = std::move(shared);
}

Verdict NodeRemarks::shared_verdict(const std::string& cause,
                                    const std::vector<Remark>& together) const {
  Verdict verdict;
  verdict.cause = cause;
  verdict.subject = Subject::of_cluster();
  verdict.status = VerdictStatus::suspected;
  verdict.confidence = confidence::likely;
  verdict.since = together.front().at;
  for (const Remark& remark : together) add_evidence(verdict, *remark.event);
  const bool of_scheduler = together.front().event->source == EventSource::scheduler;
  verdict.explanation = (of_scheduler ? "The scheduler says of " : "The logs show of ") +
                        std::to_string(together.size()) +
                        " nodes within minutes: " + catalog_.cause(cause)->summary +
                        ". What they share is likelier the reason than each of them (power, a "
                        "service, a script).";
  verdict.missing = {"what else these nodes share: rack, power feed, switch, prolog"};
  return verdict;
}

void NodeRemarks::judge(const std::string& node, Instant now, VerdictSink& verdicts) {
  const auto remarks = remarks_.find(node);
  if (remarks == remarks_.end()) return;
  std::map<std::string, Verdict> by_cause;
  for (const Fact& fact : remarks->second.facts()) {
    const Signature* signature = catalog_.signature(fact.event.signature);
    const auto shared = shared_.find(signature->cause);
    if (shared != shared_.end() && shared->second.contains(node)) continue;
    const Cause& cause = *catalog_.cause(signature->cause);
    Verdict& verdict = by_cause[cause.id];
    const bool decisive = signature->strength == Strength::decisive;
    if (verdict.evidence.empty()) {
      verdict.cause = cause.id;
      verdict.subject = Subject::of_node(node);
      verdict.since = fact.at;
      const bool of_scheduler = fact.event.source == EventSource::scheduler;
      verdict.explanation = (of_scheduler ? "The scheduler says of " : "The log shows of ") + node +
                            ": " + cause.summary + ".";
      if (!decisive) verdict.missing = {"kernel log of " + node};
    }
    verdict.confidence = decisive ? confidence::certain : confidence::even;
    const bool settled = now - fact.arrived >= catalog_.policy().limits.lateness;
    verdict.status = decisive && settled ? VerdictStatus::confirmed : VerdictStatus::suspected;
    add_evidence(verdict, fact.event);
    if (decisive && !settled) {
      news_.insert(node);
      settling_until_ = std::max(settling_until_, fact.arrived + catalog_.policy().limits.lateness);
    }
  }
  std::vector<Verdict> holding;
  for (auto& [cause, verdict] : by_cause) holding.push_back(std::move(verdict));
  book_.settle(scope_of(node), std::move(holding), catalog_, now, verdicts);
}

}  // namespace faultline
