#include "diagnose/clock_skew.h"

#include <algorithm>

#include "base/text.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

constexpr std::size_t hosts_max = 65536;

std::string host_of(const Event& event) {
  if (!event.subject.node.empty()) return event.subject.node;
  if (!event.reporter.empty()) return event.reporter;
  return std::string(event.field("host"));
}

/// The event that all hosts share, and when it was on this host's clock; "" if it is none.
std::string shared_event(const Event& event, Instant& at) {
  at = event.observed_at;
  if (!known(at)) return {};
  if (const auto comm = event.field("comm_id"); !comm.empty()) return "comm " + std::string(comm);
  if (event.signature != collective_timeout_signature) return {};
  const auto waited = parse_number<std::int64_t>(event.field("elapsed_ms"));
  if (!waited || event.field("seq").empty()) return {};
  at -= std::chrono::milliseconds{*waited};
  return "collective " + std::string(event.field("pg")) + " " + std::string(event.field("seq"));
}

Duration median(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Sightings = std::map<std::string, std::map<std::string, Instant>>;  // event -> host -> when

Sightings sightings_of(const std::vector<Event>& events) {
  Sightings sightings;
  for (const Event& event : events) {
    Instant at;
    const std::string shared = shared_event(event, at);
    const std::string host = shared.empty() ? "" : host_of(event);
    if (host.empty() || sightings.size() >= hosts_max) continue;
    auto& hosts = sightings[shared];
    const auto [entry, fresh] = hosts.try_emplace(host, at);
    if (!fresh) entry->second = std::min(entry->second, at);
  }
  return sightings;
}

}  // namespace

std::map<std::string, Duration> estimate_clock_skew(const std::vector<Event>& events) {
  std::map<std::string, std::vector<Duration>> offsets;
  for (const auto& [shared, hosts] : sightings_of(events)) {
    if (hosts.size() < 2) continue;
    std::vector<Duration> stamps;
    for (const auto& [host, at] : hosts) stamps.push_back(at.time_since_epoch());
    const Duration usual = median(std::move(stamps));
    for (const auto& [host, at] : hosts) offsets[host].push_back(usual - at.time_since_epoch());
  }
  std::map<std::string, Duration> skew;
  for (auto& [host, values] : offsets) {
    const Duration offset = median(std::move(values));
    const Duration size = offset < Duration{0} ? -offset : offset;
    if (size >= clock_skew_min && size <= clock_skew_max) skew.emplace(host, offset);
  }
  return skew;
}

void correct_clocks(std::vector<Event>& events, const std::map<std::string, Duration>& skew) {
  if (skew.empty()) return;
  for (Event& event : events) {
    const auto host = skew.find(host_of(event));
    if (host == skew.end() || !known(event.observed_at)) continue;
    event.observed_at += host->second;
    event.fields.emplace("clock_skew_ms",
                         std::to_string(host->second / std::chrono::milliseconds{1}));
  }
}

}  // namespace faultline
