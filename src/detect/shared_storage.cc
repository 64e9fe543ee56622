// A file server that does not answer is seen by every node that mounts it, and each of them looks
// broken. Lines are gathered by server: three nodes within a minute make it the server's fault, one
// node alone may be its own network.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "detect/confidence.h"
#include "detect/event_window.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t servers_max = 1024;
constexpr std::size_t facts_per_server_max = 4096;
constexpr std::size_t shared_nodes_min = 3;
constexpr Duration shared_span = std::chrono::minutes{1};
constexpr Duration remembered = std::chrono::minutes{30};

class SharedStorage final : public Detector {
 public:
  explicit SharedStorage(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "shared_storage"; }

  void observe(const Event& event) override {
    if (event.source != EventSource::kernel_log || event.kind != EventKind::log_signature) return;
    const Signature* signature = catalog_.signature(event.signature);
    if (signature == nullptr || signature->subject != SubjectKind::storage) return;
    if (event.subject.kind != SubjectKind::storage || event.subject.part.empty()) return;
    if (servers_.size() >= servers_max && !servers_.contains(event.subject.part)) return;
    EventWindow& server =
        servers_.try_emplace(event.subject.part, facts_per_server_max).first->second;
    if (server.add(event)) due_.insert(event.subject.part);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (const std::string& name : std::exchange(due_, {})) {
      EventWindow& server = servers_.at(name);
      server.forget_before(now - remembered);
      if (server.facts().empty()) {
        book_.forget(name);
        servers_.erase(name);
        continue;
      }
      judge(name, server.facts(), now, verdicts);
    }
  }

 private:
  /// The complaints of each node that no later line of that node took back.
  std::map<std::string, const Fact*> open_complaints(const Facts& facts) const {
    std::map<std::string, const Fact*> open;
    for (const Fact& fact : facts) {
      const Signature* signature = catalog_.signature(fact.event.signature);
      const std::string& node = fact.event.reporter;
      if (signature->use == SignatureUse::clears) {
        const auto complaint = open.find(node);
        if (complaint != open.end() && complaint->second->event.signature == signature->clears)
          open.erase(complaint);
      } else if (signature->role == Role::root) {
        open.try_emplace(node, &fact);
      }
    }
    return open;
  }

  static std::size_t nodes_within_span(const std::map<std::string, const Fact*>& open) {
    std::vector<Instant> times;
    for (const auto& [node, fact] : open) times.push_back(fact->at);
    std::sort(times.begin(), times.end());
    std::size_t most = 0;
    for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
      while (times[last] - times[first] > shared_span) ++first;
      most = std::max(most, last - first + 1);
    }
    return most;
  }

  void judge(const std::string& name, const Facts& facts, Instant now, VerdictSink& verdicts) {
    const auto open = open_complaints(facts);
    std::vector<Verdict> holding;
    const std::size_t together = nodes_within_span(open);
    const bool strong = std::any_of(open.begin(), open.end(), [&](const auto& entry) {
      return catalog_.signature(entry.second->event.signature)->strength != Strength::lead;
    });
    if (together >= shared_nodes_min || (strong && !open.empty()))
      holding.push_back(verdict_of(name, open, together, now));
    book_.settle(name, std::move(holding), catalog_, now, verdicts);
  }

  Verdict verdict_of(const std::string& name, const std::map<std::string, const Fact*>& open,
                     std::size_t together, Instant now) {
    const Fact* first = open.begin()->second;
    for (const auto& [node, fact] : open) {
      if (fact->at < first->at) first = fact;
    }
    Verdict verdict;
    verdict.cause = catalog_.signature(first->event.signature)->cause;
    verdict.subject = Subject::of_storage(name);
    verdict.since = first->at;
    add_evidence(verdict, first->event);
    std::set<std::string> nodes;
    for (const auto& [node, fact] : open) {
      add_evidence(verdict, fact->event);
      nodes.insert(node);
    }
    const bool is_shared = together >= shared_nodes_min;
    const bool settled = now - first->arrived >= catalog_.policy().limits.lateness;
    verdict.status = is_shared && settled ? VerdictStatus::confirmed : VerdictStatus::suspected;
    verdict.confidence = is_shared ? confidence::certain : confidence::weak;
    if (is_shared && !settled) due_.insert(name);
    verdict.explanation =
        is_shared ? std::to_string(nodes.size()) + " nodes lost " + name +
                        " together: the server or the way to "
                        "it, not the nodes."
                  : join(nodes, ", ") + " lost " + name + "; other nodes have not complained.";
    if (!is_shared) verdict.missing = {"whether other nodes reach " + name};
    return verdict;
  }

  const Catalog& catalog_;
  std::map<std::string, EventWindow> servers_;
  std::set<std::string> due_;
  VerdictBook book_{"shared_storage"};
};

}  // namespace

std::unique_ptr<Detector> make_shared_storage(const Catalog& catalog) {
  return std::make_unique<SharedStorage>(catalog);
}

}  // namespace faultline
