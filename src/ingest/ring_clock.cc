#include "ingest/ring_clock.h"

#include <algorithm>
#include <cmath>

namespace faultline {
namespace {

constexpr double ns_max = 4e18;  // some 126 years; two of them still fit into 64 bits
constexpr double rate_span_ns_min = 1e8;

Duration clamped(double ns) {
  return Duration{static_cast<std::int64_t>(std::clamp(ns, -ns_max, ns_max))};
}

double between(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(static_cast<std::int64_t>(to - from));
}

bool plausible(const ringfmt::Anchor& anchor) {
  const auto fits = [](std::int64_t ns) { return std::abs(static_cast<double>(ns)) < ns_max; };
  return anchor.stamp != 0 && anchor.stamp % 2 == 0 && fits(anchor.monotonic_ns) &&
         fits(anchor.wall_ns);
}

/// How far the wall clock is ahead of the monotonic one.
double offset(const ringfmt::Anchor& anchor) {
  return static_cast<double>(anchor.wall_ns) - static_cast<double>(anchor.monotonic_ns);
}

}  // namespace

RingClock::RingClock(std::span<const ringfmt::Anchor> anchors, std::uint64_t ticks_per_second,
                     CounterValues& problems) {
  std::vector<ringfmt::Anchor> sorted;
  for (const ringfmt::Anchor& anchor : anchors) {
    if (plausible(anchor)) sorted.push_back(anchor);
  }
  std::ranges::sort(sorted, {}, &ringfmt::Anchor::number);
  for (const ringfmt::Anchor& anchor : sorted) {
    if (!anchors_.empty() && (between(anchors_.back().ticks, anchor.ticks) < 0 ||
                              anchor.monotonic_ns < anchors_.back().monotonic_ns)) {
      ++problems["clock_went_back"];
      continue;
    }
    if (!anchors_.empty() && std::abs(offset(anchor) - offset(anchors_.back())) >=
                                 static_cast<double>(wall_step_min.count())) {
      ++problems["wall_clock_steps"];
    }
    anchors_.push_back(anchor);
  }
  if (ticks_per_second >= 1'000 && ticks_per_second <= 1'000'000'000'000) {
    ns_per_tick_ = 1e9 / static_cast<double>(ticks_per_second);
  } else {
    ++problems["wild_tick_rate"];
  }
  if (anchors_.empty()) return;
  // The rate at the start was measured over two milliseconds; that of the anchors is better.
  const double ns = static_cast<double>(anchors_.back().monotonic_ns) -
                    static_cast<double>(anchors_[0].monotonic_ns);
  const double ticks = between(anchors_[0].ticks, anchors_.back().ticks);
  if (ns >= rate_span_ns_min && ticks > 0 && std::abs(ns / ticks / ns_per_tick_ - 1) < 0.01)
    ns_per_tick_ = ns / ticks;
}

Duration RingClock::length(std::uint64_t ticks) const {
  return clamped(static_cast<double>(ticks) * ns_per_tick_);
}

RingTime RingClock::at(std::uint64_t ticks, CounterValues& problems) const {
  if (ticks == 0 || anchors_.empty()) return {};
  const auto nearest = std::ranges::min_element(anchors_, {}, [&](const ringfmt::Anchor& anchor) {
    return std::abs(between(anchor.ticks, ticks));
  });
  const double away = between(nearest->ticks, ticks) * ns_per_tick_;
  if (std::abs(away) > static_cast<double>(tick_reach_max.count())) {
    ++problems["wild_times"];
    return {};
  }
  RingTime time;
  time.is_known = true;
  time.monotonic = clamped(static_cast<double>(nearest->monotonic_ns)) + clamped(away);
  time.wall = Instant{Duration{nearest->wall_ns} + clamped(away)};
  return time;
}

}  // namespace faultline
