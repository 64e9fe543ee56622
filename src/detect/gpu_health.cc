// What NVML says of a GPU. It is read by the agent and not printed by a job, so it is a witness as
// good as the kernel; but a counter that rises is history, while a recovery action or a failed
// remap is the driver asking for something now.
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
    read(event, gpus_[event.subject]);
    due_.insert(event.subject);
  }

  void evaluate(Instant now, VerdictSink& verdicts) override {
    for (const Subject& gpu : std::exchange(due_, {})) {
      const auto readings = gpus_.find(gpu);
      if (readings == gpus_.end()) continue;
      std::vector<Verdict> holding;
      for (const auto& [cause, fact] : readings->second) {
        if (catalog_.cause(cause) == nullptr) continue;
        holding.push_back(verdict_of(gpu, cause, fact, now));
        if (holding.back().status == VerdictStatus::suspected && confirmable(cause))
          due_.insert(gpu);
      }
      if (readings->second.empty()) gpus_.erase(readings);
      book_.settle(gpu.text(), std::move(holding), catalog_, now, verdicts);
    }
  }

 private:
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
  VerdictBook book_{"gpu_health"};
};

}  // namespace

std::unique_ptr<Detector> make_gpu_health(const Catalog& catalog) {
  return std::make_unique<GpuHealth>(catalog);
}

}  // namespace faultline
