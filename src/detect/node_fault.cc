// Faults that a node's own kernel reports. They need no job to fail: a decisive line whose cause
// asks for something on the node is confirmed as soon as its companions have been waited for, and
// is acted on at once. Everything weaker is a suspicion for people and for the other detectors.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
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
constexpr Instant never = Instant::max();

class NodeFault final : public Detector {
 public:
  explicit NodeFault(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "node_fault"; }

  void observe(const Event& event) override {
    if (cleans_record(event)) return forget(node_of(event), happened_at(event));
    if (event.source != EventSource::kernel_log || event.kind != EventKind::log_signature) return;
    const Signature* signature = catalog_.signature(event.signature);
    if (signature == nullptr || signature->layer != Layer::kernel) return;
    if (event.signature == unclean_boot_signature) return;  // node_lost looks at all nodes
    const std::string& name = node_of(event);
    if (name.empty() || (nodes_.size() >= nodes_max && !nodes_.contains(name))) return;
    Node& node = nodes_[name];
    if (happened_at(event) < node.anew_since) return;
    const bool root = signature->role == Role::root && signature->strength != Strength::lead;
    EventWindow& window = faults_of_programs(*signature) ? node.program : node.facts;
    if (!window.add(event, root, signature, catalog_.cause(signature->cause))) return;
    node.judged.reset();
    due_[name] = {};
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (auto due = due_.begin(); due != due_.end();) {
      if (due->second <= now) due->second = judge(due->first, now, verdicts);
      due = due->second == never ? due_.erase(due) : std::next(due);
    }
  }

 private:
  struct Node {
    EventWindow facts{node_facts_max};
    EventWindow program{program_facts_max, WhenFull::drop_oldest};
    Instant anew_since;
    std::optional<std::vector<KernelFault>> judged;  // until there is news

    [[nodiscard]] FactList all() const {
      FactList both;
      both.reserve(facts.facts().size() + program.facts().size());
      auto other = program.facts().begin();
      for (const Fact& fact : facts.facts()) {
        for (; other != program.facts().end() && other->at < fact.at; ++other)
          both.push_back(&*other);
        both.push_back(&fact);
      }
      for (; other != program.facts().end(); ++other) both.push_back(&*other);
      return both;
    }
  };

  void forget(const std::string& name, Instant at) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return;
    node->second.facts.clear();
    node->second.program.clear();
    node->second.judged.reset();
    node->second.anew_since = at;
    book_.forget(name);
    due_.erase(name);
  }

  /// When to look again though there is no news: a companion has been waited for by then.
  Instant judge(const std::string& name, Instant now, VerdictSink& sink) {
    Node& node = nodes_[name];
    const Instant recent = now - catalog_.policy().limits.repeat_window;
    const bool forgot = node.facts.forget_before(recent);
    if (node.program.forget_before(now - program_memory) || forgot) node.judged.reset();
    if (node.facts.facts().empty() && node.program.facts().empty()) {
      book_.forget(name);
      nodes_.erase(name);
      return never;
    }
    if (!node.judged) node.judged = judge_kernel_facts(node.all(), catalog_);
    Instant look_at = never;
    std::vector<Verdict> holding;
    for (const KernelFault& fault : *node.judged) {
      if (fault.brief) continue;
      if (fault.evidence.back()->at < recent) continue;  // remembered, and no news
      if (now < fault.ready_at) {
        look_at = std::min(look_at, fault.ready_at);
        continue;
      }
      holding.push_back(verdict_of(fault, now));
      const Instant settles = settles_at(fault);
      if (now < settles) look_at = std::min(look_at, settles);
    }
    book_.settle(name, std::move(holding), catalog_, now, sink);
    if (look_at == never) node.judged.reset();
    return look_at;
  }

  /// When what is not proven at once has waited for late evidence.
  Instant settles_at(const KernelFault& fault) const {
    if (!fault.program || fault.inferred) return {};
    return fault.evidence.front()->arrived + catalog_.policy().limits.lateness;
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
    const bool sure =
        fault.decisive || (fault.program && !fault.inferred && now >= settles_at(fault));
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
  /// Nodes with something new, or with companions that are waited for until then.
  std::map<std::string, Instant> due_;
  VerdictBook book_{"node_fault"};
};

}  // namespace

std::unique_ptr<Detector> make_node_fault(const Catalog& catalog) {
  return std::make_unique<NodeFault>(catalog);
}

}  // namespace faultline
