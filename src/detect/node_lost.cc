// Nodes that the scheduler has lost, and what else it says of a node. One node is that node; many
// within a minute are something that they share, a network or the controller itself, and no node is
// blamed. An agent that fell silent is a hint and nothing more: the agent may have been stopped.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "detect/attempt_tracker.h"
#include "detect/cause_ids.h"
#include "detect/clean_record.h"
#include "detect/confidence.h"
#include "detect/kernel_faults.h"
#include "detect/node_remarks.h"
#include "detect/place_words.h"
#include "detect/verdict_book.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t lost_nodes_max = 65536;
constexpr std::size_t shared_nodes_min = 3;
constexpr Duration shared_span = std::chrono::minutes{1};
constexpr Duration starved_span = std::chrono::minutes{10};
/// A scheduler takes a node for lost after some minutes of silence, twenty at the most as they are
/// set up; tasks that wait for a file server hold their node's daemon back before that.
constexpr Duration storage_span = std::chrono::minutes{30};

/// Notices come two minutes before; a node is deleted within minutes.
constexpr Duration taken_back_span = std::chrono::minutes{15};

struct LostNode {
  Fact scheduler;  // why the scheduler's view counts; event.id is empty if only the agent is silent
  Fact agent;
  [[nodiscard]] bool down() const { return !scheduler.event.id.empty(); }
  [[nodiscard]] bool silent() const { return !agent.event.id.empty(); }
  [[nodiscard]] Instant since() const { return down() ? scheduler.at : agent.at; }
};

Fact fact_of(const Event& event) { return {event, happened_at(event), learnt_at(event)}; }

/// A person has taken the node down and says why. What the scheduler finds itself is signed by its
/// own account, which may be called anything: its words are known.
bool taken_by_person(const Event& event) {
  static constexpr std::array accounts = {"", "root", "slurm"};
  static constexpr std::array own_words = {"not responding", "node unexpectedly", "resumetimeout"};
  const std::string reason = to_lower(trim(event.field("reason")));
  return !reason.empty() && !contains(accounts, event.field("owner")) &&
         std::none_of(own_words.begin(), own_words.end(),
                      [&](std::string_view words) { return reason.starts_with(words); });
}

class NodeLost final : public Detector {
 public:
  explicit NodeLost(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "node_lost"; }

  void observe(const Event& event) override {
    if (event.kind == EventKind::node_seen) observe_view(event);
    if (event.kind == EventKind::agent_lost) note(event).agent = fact_of(event);
    if (event.kind == EventKind::agent_started || event.kind == EventKind::node_boot)
      heard(node_of(event));
    if (event.kind == EventKind::attempt_ended) observe_end(event);
    if (event.kind == EventKind::log_signature && event.source == EventSource::scheduler)
      observe_remark(event);
    if (event.kind == EventKind::log_signature && event.source == EventSource::kernel_log) {
      observe_storage(event);
      observe_boot(event);
    }
    if (cleans_record(event)) forget(node_of(event));
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    if (!news_ && now > settling_until_) return;
    // Once more at the end of the wait, then not again until something is heard.
    news_ = now < settling_until_;
    for (const std::string& name : std::exchange(gone_, {}))
      book_.settle(name, {}, catalog_, now, verdicts);
    settling_until_ = std::max(settling_until_, remarks_.evaluate(now, verdicts));
    std::vector<Verdict> common;
    const std::set<std::string> shared = shared_losses(common);
    for (const auto& [name, node] : lost_) {
      std::vector<Verdict> own;
      if (!shared.contains(name) && !remarks_.is_shared(name) && !taken_back(name, node))
        own.push_back(verdict_of(name, node, now));
      book_.settle(name, std::move(own), catalog_, now, verdicts);
    }
    book_.settle("", std::move(common), catalog_, now, verdicts);
  }

 private:
  LostNode& note(const Event& event) {
    const std::string& name = node_of(event);
    if (lost_.size() >= lost_nodes_max && !lost_.contains(name)) lost_.erase(lost_.begin());
    news_ = true;
    settling_until_ =
        std::max(settling_until_, learnt_at(event) + catalog_.policy().limits.lateness);
    return lost_[name];
  }

  void observe_view(const Event& event) {
    const std::string& name = node_of(event);
    const auto known_loss = lost_.find(name);
    if (event.field("state") == "gone") {
      // A node that the scheduler has no more: that its agent is silent means nothing.
      if (known_loss != lost_.end() && !known_loss->second.down()) drop(name);
    } else if (says_down(event)) {
      // Out of service or down already: somebody is at work on it, and this is news of that.
      const bool expected = event.field("drained") == "true" || event.field("was_down") == "true" ||
                            taken_by_person(event);
      if (known_loss == lost_.end() && expected) return;
      LostNode& node = note(event);
      if (!node.down()) node.scheduler = fact_of(event);
    } else if (known_loss != lost_.end() && known_loss->second.down()) {
      // Back within a moment it was a hiccup. Later it stays what it was until a test or a person
      // says otherwise: a node that went away and came back has rebooted, and that is no proof of
      // health.
      const bool hiccup =
          happened_at(event) - known_loss->second.scheduler.at < catalog_.policy().limits.lateness;
      if (hiccup) drop(name);
    }
  }

  void heard(const std::string& name) {
    const auto node = lost_.find(name);
    if (node == lost_.end() || !node->second.silent()) return;
    node->second.agent = {};
    news_ = true;
    if (!node->second.down()) drop(name);
  }

  /// It is not lost after all.
  void drop(const std::string& name) {
    gone_.insert(name);
    lost_.erase(name);
    news_ = true;
  }

  /// It passed a test or was given back: what was said stands, and a new loss is a new incident.
  void forget(const std::string& name) {
    lost_.erase(name);
    storage_trouble_.erase(name);
    remarks_.forget(name);
    book_.forget(name);
  }

  void observe_end(const Event& event) {
    if (event.field("state") != to_text(AttemptState::node_fail)) return;
    std::string_view failed = event.field("failed_node");
    const auto nodes = expand_hostlist(event.field("nodes"), 2);
    if (failed.empty() && nodes.ok() && nodes.value().size() == 1) failed = nodes.value().front();
    if (!valid_node_name(failed)) return;
    Event about = event;
    about.subject = Subject::of_node(std::string(failed));
    LostNode& node = note(about);
    if (!node.down()) node.scheduler = fact_of(about);
  }

  /// A line of the scheduler's log about one node, or its reason for a drain.
  void observe_remark(const Event& event) {
    const Signature* signature = catalog_.signature(event.signature);
    if (signature == nullptr || signature->role != Role::root ||
        signature->strength == Strength::lead)
      return;
    if (event.subject.kind != SubjectKind::node) return;
    if (signature->cause == cause_id::node_lost) {
      LostNode& node = note(event);
      if (!node.down()) node.scheduler = fact_of(event);
      return;
    }
    if (remarks_.observe(event, signature->cause)) news_ = true;
  }

  void observe_boot(const Event& event) {
    if (event.signature != unclean_boot_signature || event.subject.kind != SubjectKind::node)
      return;
    if (remarks_.observe(event, catalog_.signature(event.signature)->cause)) news_ = true;
  }

  /// The node's kernel waits for a file server, or no longer does.
  void observe_storage(const Event& event) {
    const Signature* signature = catalog_.signature(event.signature);
    if (signature == nullptr || event.subject.kind != SubjectKind::storage) return;
    const std::string& name = node_of(event);
    const auto trouble = storage_trouble_.find(name);
    if (signature->use == SignatureUse::clears) {
      if (trouble != storage_trouble_.end() && trouble->second.event.signature == signature->clears)
        storage_trouble_.erase(trouble);
    } else if (signature->role == Role::root) {
      if (storage_trouble_.size() >= lost_nodes_max && trouble == storage_trouble_.end())
        storage_trouble_.erase(storage_trouble_.begin());
      storage_trouble_.insert_or_assign(name, fact_of(event));
    }
  }

  /// What may have kept the node from answering, in words; "" if nothing is known. News that come
  /// later than late news are waited for take nothing back.
  [[nodiscard]] std::string excuse_of(const std::string& name, const LostNode& node) const {
    const Instant lost_at = node.since();
    const Instant learnt_until =
        (node.down() ? node.scheduler : node.agent).arrived + catalog_.policy().limits.lateness;
    if (remarks_.said(name, cause_id::out_of_memory_host, lost_at - starved_span, lost_at,
                      learnt_until))
      return " It had run out of memory, and a node without memory does not answer.";
    const auto storage = storage_trouble_.find(name);
    if (storage == storage_trouble_.end()) return {};
    const Fact& trouble = storage->second;
    const bool before = trouble.at <= lost_at && trouble.at >= lost_at - storage_span;
    if (!before || trouble.arrived > learnt_until) return {};
    return " Before, it waited for " + place_words(trouble.event.subject) +
           ", and a node whose tasks hang there does not answer.";
  }

  /// The cloud took the machine back, or deleted it: there is no node to blame. Whoever asks what
  /// is there is told so only once it has gone.
  [[nodiscard]] bool taken_back(const std::string& name, const LostNode& node) const {
    return remarks_.said(name, cause_id::preempted, node.since() - taken_back_span,
                         node.since() + taken_back_span, Instant::max());
  }

  /// Nodes that were lost together, with the verdict about what they share.
  std::set<std::string> shared_losses(std::vector<Verdict>& holding) const {
    std::vector<std::pair<Instant, std::string>> losses;
    for (const auto& [name, node] : lost_) losses.emplace_back(node.since(), name);
    std::sort(losses.begin(), losses.end());
    std::set<std::string> shared;
    Verdict verdict;
    for (std::size_t i = 0; i + shared_nodes_min <= losses.size(); ++i) {
      if (losses[i + shared_nodes_min - 1].first - losses[i].first > shared_span) continue;
      for (std::size_t j = i; j < losses.size() && losses[j].first - losses[i].first <= shared_span;
           ++j) {
        if (!shared.insert(losses[j].second).second) continue;
        const LostNode& node = lost_.at(losses[j].second);
        add_evidence(verdict, (node.down() ? node.scheduler : node.agent).event);
        if (shared.size() == 1) verdict.since = losses[j].first;
      }
    }
    if (shared.empty()) return shared;
    verdict.cause = cause_id::fabric;
    verdict.subject = Subject::of_cluster();
    verdict.status = VerdictStatus::suspected;
    verdict.confidence = confidence::likely;
    verdict.explanation = std::to_string(shared.size()) +
                          " nodes were lost within a minute: what they share is likelier broken "
                          "than each of them (network, power, or the controller's own link).";
    verdict.missing = {"state of the switches and of the management network at that time"};
    holding.push_back(std::move(verdict));
    return shared;
  }

  Verdict verdict_of(const std::string& name, const LostNode& node, Instant now) const {
    Verdict verdict;
    verdict.cause = cause_id::node_lost;
    verdict.subject = Subject::of_node(name);
    verdict.since = node.since();
    if (node.down()) add_evidence(verdict, node.scheduler.event);
    if (node.silent()) add_evidence(verdict, node.agent.event);
    const PolicyLimits& limits = catalog_.policy().limits;
    const bool settled = node.down() && now - node.scheduler.arrived >= limits.lateness;
    verdict.status = settled ? VerdictStatus::confirmed : VerdictStatus::suspected;
    verdict.confidence =
        node.down() ? (node.silent() ? confidence::proven : confidence::strong) : confidence::weak;
    if (now - verdict.since > limits.verdict_age_max) verdict.updated_at = verdict.since;
    verdict.missing = {"kernel log of " + name + " from before it was lost"};
    verdict.explanation =
        node.down() ? "The scheduler has lost " + name + "."
                    : "The agent of " + name + " fell silent; the scheduler still sees the node.";
    if (const std::string excuse = excuse_of(name, node); !excuse.empty()) {
      verdict.status = VerdictStatus::suspected;
      verdict.confidence = std::min(verdict.confidence, confidence::hint);
      verdict.explanation += excuse;
    }
    return verdict;
  }

  const Catalog& catalog_;
  std::map<std::string, LostNode> lost_;
  std::map<std::string, Fact> storage_trouble_;  // by node, what its kernel waits for
  std::set<std::string> gone_;
  bool news_ = false;
  Instant settling_until_;
  VerdictBook book_{"node_lost"};
  NodeRemarks remarks_{catalog_, book_};
};

}  // namespace

std::unique_ptr<Detector> make_node_lost(const Catalog& catalog) {
  return std::make_unique<NodeLost>(catalog);
}

}  // namespace faultline
