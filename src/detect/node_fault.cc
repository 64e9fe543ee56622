// Faults that a node's own kernel reports. They need no job to fail: a decisive line whose cause
// asks for something on the node is confirmed as soon as its companions have been waited for, and
// is acted on at once. Everything weaker is a suspicion for people and for the other detectors.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/clean_record.h"
#include "detect/kernel_faults.h"
#include "detect/place_words.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t node_facts_max = 1024;
constexpr std::size_t nodes_max = 65536;
/// A bad multiprocessor shows itself in one job in many: what programs made a GPU report is
/// remembered longer than what the node reports of itself.
constexpr std::size_t program_facts_max = 256;
constexpr Duration program_memory = std::chrono::hours{30 * 24};

class NodeFault final : public Detector {
 public:
  explicit NodeFault(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "node_fault"; }

  void observe(const Event& event) override {
    if (cleans_record(event)) return forget(node_of(event), happened_at(event));
    if (event.source != EventSource::kernel_log || event.kind != EventKind::log_signature) return;
    const Signature* signature = catalog_.signature(event.signature);
    if (signature == nullptr || signature->layer != Layer::kernel) return;
    const std::string& name = node_of(event);
    if (name.empty() || (nodes_.size() >= nodes_max && !nodes_.contains(name))) return;
    Node& node = nodes_[name];
    if (happened_at(event) < node.anew_since) return;
    const bool root = signature->role == Role::root && signature->strength != Strength::lead;
    EventWindow& window = faults_of_programs(*signature) ? node.program : node.facts;
    if (window.add(event, root)) due_.insert(name);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    const std::set<std::string> due = std::exchange(due_, {});
    for (const std::string& name : due) judge(name, now, verdicts);
  }

 private:
  struct Node {
    EventWindow facts{node_facts_max};
    EventWindow program{program_facts_max, WhenFull::drop_oldest};
    Instant anew_since;

    [[nodiscard]] std::vector<Fact> all() const {
      std::vector<Fact> both;
      std::merge(facts.facts().begin(), facts.facts().end(), program.facts().begin(),
                 program.facts().end(), std::back_inserter(both),
                 [](const Fact& a, const Fact& b) { return a.at < b.at; });
      return both;
    }
  };

  void forget(const std::string& name, Instant at) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return;
    node->second.facts.clear();
    node->second.program.clear();
    node->second.anew_since = at;
    book_.forget(name);
    due_.erase(name);
  }

  void judge(const std::string& name, Instant now, VerdictSink& sink) {
    Node& node = nodes_[name];
    const PolicyLimits& limits = catalog_.policy().limits;
    const Instant recent = now - limits.repeat_window;
    node.facts.forget_before(recent);
    node.program.forget_before(now - program_memory);
    const std::vector<Fact> facts = node.all();
    if (facts.empty()) {
      book_.forget(name);
      nodes_.erase(name);
      return;
    }
    std::vector<Verdict> holding;
    for (const KernelFault& fault : judge_kernel_facts(facts, catalog_)) {
      if (fault.brief) continue;
      if (fault.evidence.back()->at < recent) continue;  // remembered, and no news
      if (now < fault.ready_at) {
        due_.insert(name);
        continue;
      }
      holding.push_back(verdict_of(fault, now));
      if (fault.program && holding.back().status != VerdictStatus::confirmed && !fault.inferred)
        due_.insert(name);
    }
    book_.settle(name, std::move(holding), catalog_, now, sink);
  }

  Verdict verdict_of(const KernelFault& fault, Instant now) const {
    const PolicyLimits& limits = catalog_.policy().limits;
    const bool asks_for_node = concerns_node(fault.cause->remedy);
    Verdict verdict;
    verdict.cause = fault.cause->id;
    verdict.subject = fault.subject;
    verdict.attempt = fault.subject.kind == SubjectKind::attempt
                          ? std::optional(fault.subject.attempt)
                          : std::nullopt;
    verdict.since = fault.since();
    verdict.confidence = fault.confidence;
    verdict.missing = fault.missing;
    for (const Fact* fact : fault.evidence) add_evidence(verdict, fact->event);
    for (const Fact* fact : fault.leads) add_evidence(verdict, fact->event);
    for (const Fact* fact : fault.consequences) add_consequence(verdict, fact->event);
    const bool settled = now - fault.evidence.front()->arrived >= limits.lateness;
    const bool sure = fault.decisive || (fault.program && !fault.inferred && settled);
    verdict.status = sure ? VerdictStatus::confirmed : VerdictStatus::suspected;
    // Lines read again after a restart are history, not an incident.
    const bool fresh = now - fault.evidence.back()->at <= limits.verdict_age_max;
    if (!fresh) verdict.updated_at = fault.evidence.back()->at;
    verdict.acts_at_once = fault.decisive && asks_for_node && fresh;
    if (!fault.program) {
      const bool elsewhere = blames_no_node(*fault.cause);
      const std::string place = elsewhere ? node_words(node_of(fault.evidence.front()->event))
                                          : place_words(fault.subject);
      verdict.explanation = fault.cause->summary + " on " + place + ". ";
    }
    verdict.explanation = trim(verdict.explanation + fault.note);
    return verdict;
  }

  const Catalog& catalog_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> due_;  // nodes with something new, or with companions still waited for
  VerdictBook book_{"node_fault"};
};

}  // namespace

std::unique_ptr<Detector> make_node_fault(const Catalog& catalog) {
  return std::make_unique<NodeFault>(catalog);
}

}  // namespace faultline
