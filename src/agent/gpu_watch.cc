#include "agent/gpu_watch.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t gpus_max = 64;

// NVML clocks event reasons (nvml.h: nvmlClocksEventReason*) that mean trouble rather than thrift.
constexpr std::uint64_t hw_slowdown = 0x8;
constexpr std::uint64_t sw_thermal = 0x20;
constexpr std::uint64_t hw_thermal = 0x40;
constexpr std::uint64_t hw_power_brake = 0x80;
constexpr std::uint64_t judged_throttles = hw_slowdown | sw_thermal | hw_thermal | hw_power_brake;

std::string throttle_names(std::uint64_t bits) {
  std::vector<std::string_view> names;
  if ((bits & hw_slowdown) != 0) names.push_back("hw_slowdown");
  if ((bits & sw_thermal) != 0) names.push_back("sw_thermal");
  if ((bits & hw_thermal) != 0) names.push_back("hw_thermal");
  if ((bits & hw_power_brake) != 0) names.push_back("hw_power_brake");
  return names.empty() ? "none" : join(names, ",");
}

}  // namespace

Event GpuWatch::make(EventKind kind, const std::string& pci, Instant now) const {
  Event event;
  event.source = EventSource::nvml;
  event.kind = kind;
  event.subject = Subject::of_gpu(node_, pci);
  event.observed_at = now;
  event.clock = ClockDomain::node_wall;
  return event;
}

/// An unreadable value is none: what was last known still holds, so that the next readable one is
/// compared with it.
GpuSample GpuWatch::with_known(const GpuSample& before, GpuSample now) {
  const auto keep = [&](auto value) {
    if (!(now.*value)) now.*value = before.*value;
  };
  keep(&GpuSample::throttle_reasons);
  keep(&GpuSample::ecc_corrected_total);
  keep(&GpuSample::ecc_uncorrected_total);
  keep(&GpuSample::remapped_rows_uncorrected);
  keep(&GpuSample::remap_pending);
  keep(&GpuSample::remap_failed);
  keep(&GpuSample::recovery_action);
  if (now.serial.empty()) now.serial = before.serial;
  now.uuid = before.uuid;
  return now;
}

/// Writes what got worse or changed into `fields`. Without an earlier sample only a bad state
/// counts, not a counter: errors of before the agent's time are not news.
void GpuWatch::compare(const GpuSample* before, const GpuSample& now, Fields& fields) {
  const auto rose = [](const auto& old_value, const auto& new_value) {
    return old_value && new_value && *new_value > *old_value;
  };
  if (before != nullptr && rose(before->ecc_uncorrected_total, now.ecc_uncorrected_total)) {
    fields["ecc_uncorrected_total"] = std::to_string(*now.ecc_uncorrected_total);
    fields["ecc_uncorrected_new"] =
        std::to_string(*now.ecc_uncorrected_total - *before->ecc_uncorrected_total);
  }
  if (before != nullptr && rose(before->remapped_rows_uncorrected, now.remapped_rows_uncorrected)) {
    fields["remapped_rows_uncorrected"] = std::to_string(*now.remapped_rows_uncorrected);
  }
  const auto flag = [&](const char* name, std::optional<bool> old_value,
                        std::optional<bool> new_value) {
    if (new_value && *new_value != old_value.value_or(false)) fields[name] = *new_value ? "1" : "0";
  };
  flag("remap_pending", before == nullptr ? std::nullopt : before->remap_pending,
       now.remap_pending);
  flag("remap_failed", before == nullptr ? std::nullopt : before->remap_failed, now.remap_failed);
  const std::int64_t old_action = before == nullptr ? 0 : before->recovery_action.value_or(0);
  if (now.recovery_action && *now.recovery_action != old_action) {
    fields["recovery_action"] = std::to_string(*now.recovery_action);
  }
  const std::uint64_t old_bits =
      before == nullptr ? 0 : before->throttle_reasons.value_or(0) & judged_throttles;
  const std::uint64_t new_bits = now.throttle_reasons.value_or(old_bits) & judged_throttles;
  if (new_bits != old_bits) {
    fields["throttle"] = throttle_names(new_bits);
    fields["throttle_before"] = throttle_names(old_bits);
  }
}

std::vector<Event> GpuWatch::observe(const std::vector<GpuSample>& samples, Instant now) {
  std::vector<Event> events;
  std::set<std::string, std::less<>> seen;
  for (const GpuSample& read : samples) {
    const std::string pci = canonical_pci(read.pci_address);
    if (pci.empty() || (gpus_.size() >= gpus_max && !gpus_.contains(pci))) continue;
    seen.insert(pci);
    const auto it = gpus_.find(pci);
    // Another UUID in the same slot is another card: it starts without a past.
    const bool fresh =
        it == gpus_.end() || (!read.uuid.empty() && it->second.last.uuid != read.uuid);
    const GpuSample sample = fresh ? read : with_known(it->second.last, read);
    Fields fields;
    compare(fresh ? nullptr : &it->second.last, sample, fields);
    if (fresh) {
      Event identity = make(EventKind::gpu_identity, pci, now);
      identity.fields = {{"uuid", printable(sample.uuid, 96)},
                         {"serial", printable(sample.serial, 64)},
                         {"index", std::to_string(sample.index)}};
      events.push_back(std::move(identity));
    } else if (it->second.missing) {
      fields["missing"] = "0";
    }
    if (!fields.empty()) {
      Event reading = make(EventKind::gpu_sample, pci, now);
      if (sample.temperature_c) fields["temperature_c"] = std::to_string(*sample.temperature_c);
      fields["gpu_uuid"] = printable(sample.uuid, 96);
      fields["gpu_serial"] = printable(sample.serial, 64);
      reading.fields = std::move(fields);
      events.push_back(std::move(reading));
    }
    gpus_[pci] = {{sample.uuid, sample.serial}, sample, false};
  }
  for (auto& [pci, known] : gpus_) {
    if (seen.contains(pci) || known.missing) continue;
    known.missing = true;
    Event gone = make(EventKind::gpu_sample, pci, now);
    gone.fields = {{"missing", "1"},
                   {"gpu_uuid", printable(known.identity.uuid, 96)},
                   {"gpu_serial", printable(known.identity.serial, 64)}};
    events.push_back(std::move(gone));
  }
  return events;
}

const GpuWatch::Identity* GpuWatch::identity(std::string_view pci_address) const {
  const auto it = gpus_.find(canonical_pci(pci_address));
  return it == gpus_.end() ? nullptr : &it->second.identity;
}

}  // namespace faultline
