// What NVML says of a GPU. It is read by the agent and not printed by a job, so it is a witness as
// good as the kernel; but a counter that rises is history, while a recovery action or a failed
// remap is the driver asking for something now. What holds all cards of a node down at once is the
// node's power or cooling, and no card's fault.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/clean_record.h"
#include "detect/confidence.h"
#include "detect/event_window.h"
#include "detect/place_words.h"
#include "detect/verdict_book.h"

namespace faultline {
namespace {

constexpr std::size_t gpus_max = 262144;

/// What holds for one GPU: cause -> the reading that says so.
using Readings = std::map<std::string, Fact>;

/// NVML's recovery actions (nvml.h: nvmlGpuRecoveryAction), in its order from 1 on. The last one
/// stands for what a newer driver may ask for and we do not know by name.
constexpr std::array recovery_causes = {cause_id::recovery_reset, cause_id::recovery_reboot,
                                        cause_id::recovery_drain_p2p,
                                        cause_id::recovery_drain_reset, cause_id::recovery_other};

/// "" for 0, none.
std::string_view cause_of_action(std::uint64_t action) {
  return action == 0 ? std::string_view{}
                     : recovery_causes[std::min<std::uint64_t>(action, recovery_causes.size()) - 1];
}

bool throttled(std::string_view reasons) {
  return !reasons.empty() && reasons != "none" && reasons != "0";
}

class GpuHealth final : public Detector {
 public:
  explicit GpuHealth(const Catalog& catalog) : catalog_(catalog) {}

  std::string_view name() const override { return "gpu_health"; }

  void observe(const Event& event) override {
    if (cleans_record(event)) return forget(node_of(event));
    if (event.kind != EventKind::gpu_sample || event.source != EventSource::nvml) return;
    if (event.subject.kind != SubjectKind::gpu ||
        (gpus_.size() >= gpus_max && !gpus_.contains(event.subject)))
      return;
    Readings& readings = gpus_[event.subject];
    read(event, readings);
    due_.insert(event.subject);
    count_held(event, readings);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (const std::string& node : std::exchange(nodes_due_, {})) judge_node(node, now, verdicts);
    for (const Subject& gpu : std::exchange(due_, {})) {
      const auto readings = gpus_.find(gpu);
      if (readings == gpus_.end()) continue;
      std::vector<Verdict> holding;
      for (const auto& [cause, fact] : readings->second) {
        if (catalog_.cause(cause) == nullptr) continue;
        if (cause == cause_id::throttle && all_held(gpu.node)) continue;
        holding.push_back(verdict_of(gpu, cause, fact, now));
        if (holding.back().status == VerdictStatus::suspected && confirmable(cause))
          due_.insert(gpu);
      }
      if (readings->second.empty()) gpus_.erase(readings);
      book_.settle(gpu.text(), std::move(holding), catalog_, now, verdicts);
    }
  }

 private:
  /// Of a node whose report says how many GPUs it has.
  struct Held {
    std::size_t attached = 0;
    std::set<Subject> gpus;  // whose clocks are held down
  };

  void count_held(const Event& event, const Readings& readings) {
    const auto attached = parse_number<std::size_t>(event.field("attached_gpus"));
    const auto known_node = held_.find(event.subject.node);
    if (!attached && known_node == held_.end()) return;
    Held& held = known_node == held_.end() ? held_[event.subject.node] : known_node->second;
    const bool before = all_held(event.subject.node);
    held.attached = attached.value_or(held.attached);
    if (readings.contains(std::string(cause_id::throttle))) {
      held.gpus.insert(event.subject);
    } else {
      held.gpus.erase(event.subject);
    }
    if (before == all_held(event.subject.node)) return;
    nodes_due_.insert(event.subject.node);
    due_.insert(held.gpus.begin(), held.gpus.end());
  }

  [[nodiscard]] bool all_held(const std::string& node) const {
    const auto held = held_.find(node);
    return held != held_.end() && held->second.gpus.size() > 1 &&
           held->second.gpus.size() >= held->second.attached;
  }

  void judge_node(const std::string& node, Instant now, VerdictSink& verdicts) {
    std::vector<Verdict> holding;
    if (all_held(node)) {
      Verdict verdict;
      verdict.cause = cause_id::throttle;
      verdict.subject = Subject::of_node(node);
      verdict.status = VerdictStatus::suspected;
      verdict.confidence = confidence::even;
      for (const Subject& gpu : held_.at(node).gpus) {
        const Fact& fact = gpus_.at(gpu).at(std::string(cause_id::throttle));
        if (verdict.evidence.empty() || fact.at < verdict.since) verdict.since = fact.at;
        add_evidence(verdict, fact.event);
      }
      verdict.explanation =
          "All " + std::to_string(held_.at(node).gpus.size()) + " GPUs of " + node_words(node) +
          " are held down at once: its power or its cooling does that, and no single card.";
      verdict.missing = {"the BMC event log of " + node};
      holding.push_back(std::move(verdict));
    }
    book_.settle(node + "|held", std::move(holding), catalog_, now, verdicts);
  }

  static void set(Readings& readings, std::string_view cause, const Event& event) {
    readings.try_emplace(std::string(cause), Fact{event, happened_at(event), learnt_at(event)});
  }

  static void read(const Event& event, Readings& readings) {
    const auto errors = parse_number<std::int64_t>(event.field("ecc_uncorrected_new"));
    if (errors && *errors > 0) set(readings, cause_id::ecc_uncorrectable, event);
    if (event.field("remap_failed") == "1") set(readings, cause_id::row_remap_failed, event);
    if (const auto action = parse_number<std::uint64_t>(event.field("recovery_action")))
      set_wish(readings, cause_of_action(*action), event);
    if (const auto reasons = event.field("throttle"); throttled(reasons)) {
      set(readings, cause_id::throttle, event);
    } else if (!reasons.empty()) {
      readings.erase(std::string(cause_id::throttle));
    }
    if (event.field("lost") == "1") set(readings, cause_id::fell_off_bus, event);
    if (event.field("missing") == "1") set(readings, cause_id::gpu_missing, event);
    if (event.field("missing") == "0") readings.erase(std::string(cause_id::gpu_missing));
  }

  /// The driver has one wish at a time; "" takes it back.
  static void set_wish(Readings& readings, std::string_view wish, const Event& event) {
    for (const std::string_view cause : recovery_causes) {
      if (cause != wish) readings.erase(std::string(cause));
    }
    if (!wish.empty()) set(readings, wish, event);
  }

  /// What the driver asks for is a fact now, and of a lost GPU it asks for a reboot. A rise of the
  /// error counter waits for what the kernel says of it.
  static bool at_once(std::string_view cause) {
    return cause == cause_id::fell_off_bus || cause == cause_id::row_remap_failed ||
           cause == cause_id::recovery_reset || cause == cause_id::recovery_reboot ||
           cause == cause_id::recovery_drain_reset;
  }

  static bool confirmable(std::string_view cause) {
    return at_once(cause) || cause == cause_id::recovery_drain_p2p ||
           cause == cause_id::recovery_other;
  }

  Verdict verdict_of(const Subject& gpu, const std::string& cause, const Fact& fact,
                     Instant now) const {
    const PolicyLimits& limits = catalog_.policy().limits;
    const Cause* known_cause = catalog_.cause(cause);
    Verdict verdict;
    verdict.cause = cause;
    verdict.subject = gpu;
    verdict.since = fact.at;
    add_evidence(verdict, fact.event);
    const bool fresh = now - fact.at <= limits.verdict_age_max;
    const bool settled = now - fact.arrived >= limits.lateness;
    const bool sure = at_once(cause) || (confirmable(cause) && settled);
    verdict.status = sure ? VerdictStatus::confirmed : VerdictStatus::suspected;
    verdict.acts_at_once = at_once(cause) && fresh && concerns_node(known_cause->remedy);
    verdict.confidence = sure ? confidence::proven : confidence::even;
    if (!fresh) verdict.updated_at = fact.at;
    verdict.explanation = "NVML of " + place_words(gpu) + ": " + known_cause->summary + ".";
    if (!sure) verdict.missing = {kernel_log_words(gpu.node)};
    return verdict;
  }

  void forget(const std::string& node) {
    held_.erase(node);
    book_.forget(node + "|held");
    for (auto gpu = gpus_.begin(); gpu != gpus_.end();) {
      if (gpu->first.node != node) {
        ++gpu;
        continue;
      }
      book_.forget(gpu->first.text());
      due_.erase(gpu->first);
      gpu = gpus_.erase(gpu);
    }
  }

  const Catalog& catalog_;
  std::map<Subject, Readings> gpus_;
  std::set<Subject> due_;
  std::map<std::string, Held> held_;
  std::set<std::string> nodes_due_;
  VerdictBook book_{"gpu_health"};
};

}  // namespace

std::unique_ptr<Detector> make_gpu_health(const Catalog& catalog) {
  return std::make_unique<GpuHealth>(catalog);
}

}  // namespace faultline
