#include "ingest/event_throttle.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t remembered_max = 8192;  // contents; some 500 KiB
constexpr Duration minute = std::chrono::minutes{1};

/// Which kind of fact about whom. The rank counts also where the subject is the whole job: that
/// all ranks say it, or all but one, is what a diagnosis rests on.
StableHash hash_of_pair(const Event& event) {
  StableHash hash;
  hash.add(to_text(event.kind)).add(event.signature).add(event.subject.text());
  hash.add(event.field("rank"));
  return hash;
}

/// What makes two events the same fact told twice. The free text of a driver's line is left out:
/// channel numbers count up in it. All that a signature cut out of the line counts, so another
/// process, code or multiprocessor is another fact.
std::uint64_t hash_of_content(const Event& event) {
  StableHash hash = hash_of_pair(event);
  for (const auto& [name, value] : event.fields) {
    if (name != "body" && name != "kernel_us") hash.add(name).add(value);
  }
  return hash.value();
}

/// Where nobody knows when the node booted, since boot: of one log that says how far two lines are
/// apart.
Instant time_of(const Event& event) {
  if (known(event.observed_at)) return event.observed_at;
  const auto since_boot = parse_number<std::int64_t>(event.field("kernel_us"));
  return since_boot ? Instant{std::chrono::microseconds{*since_boot}} : Instant{};
}

Duration distance(Instant left, Instant right) {
  return left < right ? right - left : left - right;
}

}  // namespace

EventThrottle::Ruling EventThrottle::admit(const Event& event, std::uint64_t line, Instant now) {
  if (repeats(event, line, now)) return Ruling::repeat;
  return floods(event, now) ? Ruling::flood : Ruling::pass;
}

bool EventThrottle::repeats(const Event& event, std::uint64_t line, Instant now) {
  if (last_.size() >= remembered_max) last_.clear();
  const Last current{time_of(event), now, line};
  const auto [it, added] = last_.emplace(hash_of_content(event), current);
  if (added) return false;
  Last& last = it->second;
  const bool timed = known(current.at) && known(last.at);
  const bool near = timed ? distance(current.at, last.at) <= limits_.coalesce
                          : line - last.line <= limits_.coalesce_lines &&
                                distance(now, last.received) <= limits_.coalesce;
  if (!near) last = current;
  return near;
}

bool EventThrottle::floods(const Event& event, Instant now) {
  if (minute_over(now)) {
    minute_start_ = now;
    passed_in_minute_ = 0;
    pairs_.clear();
  }
  const auto pair = hash_of_pair(event).value();
  const bool seen = pairs_.contains(pair);
  const bool drop = seen ? passed_in_minute_ >= limits_.events_per_minute_max
                         : pairs_.size() >= limits_.pairs_per_minute_max;
  if (drop) {
    ++dropped_;
    return true;
  }
  pairs_.insert(pair);
  ++passed_in_minute_;
  return false;
}

bool EventThrottle::minute_over(Instant now) const {
  // A clock that was set back starts a new minute, too.
  return now < minute_start_ || now - minute_start_ >= minute;
}

std::uint64_t EventThrottle::take_dropped(Instant now, bool at_once) {
  if (!at_once && !minute_over(now)) return 0;
  return std::exchange(dropped_, 0);
}

}  // namespace faultline
