#include "agent/outbox.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "wire/event_check.h"
#include "wire/event_codec.h"

namespace faultline {
namespace {

constexpr Duration clock_step_min = std::chrono::seconds{1};

}  // namespace

Outbox::Outbox(std::string node, Spool& spool, Uplink& uplink, const Clock& clock,
               Counters& counters, Limits limits)
    : node_(std::move(node)),
      spool_(spool),
      uplink_(uplink),
      clock_(clock),
      counters_(counters),
      limits_(limits),
      uplink_report_(counters),
      batch_events_(limits.batch_events_max) {}

void Outbox::add(Event event) {
  event.reporter = node_;
  event.id = make_event_id(event);
  if (const Status checked = check_event(event); !checked.ok()) {
    counters_.add("agent_events_malformed_total");
    spdlog::debug("event dropped: {}", checked.error().message);
    return;
  }
  added_.push_back(serialize_event(event));
  counters_.add("agent_events_total");
}

bool Outbox::keep() {
  say_dropped();
  if (added_.empty()) return false;
  if (spool_.pending() == 0) batch_due_ = clock_.monotonic() + limits_.batch_delay;
  const Status kept = spool_.append(added_);
  added_.clear();
  if (!kept.ok()) {
    disk_refuses_ = true;
    spdlog::error(
        "spool: {}; events are kept in memory, the oldest are dropped when there is no room",
        kept.error().message);
  } else if (spool_.durable() && std::exchange(disk_refuses_, false)) {
    spdlog::info("spool: the disk takes events again");
  }
  return true;
}

/// What had no room is an event too, but not one for each: it would take the room of others.
void Outbox::say_dropped() {
  const std::uint64_t dropped = spool_.take_dropped();
  counters_.add("agent_spool_dropped_events_total", dropped);
  dropped_ += dropped;
  if (dropped_ == 0 || clock_.monotonic() < dropped_say_due_) return;
  dropped_say_due_ = clock_.monotonic() + limits_.dropped_every;
  spdlog::error("spool: {} events had no room and were dropped, the oldest first", dropped_);
  Event gap;
  gap.source = EventSource::agent;
  gap.kind = EventKind::source_gap;
  gap.subject = Subject::of_node(node_);
  gap.observed_at = clock_.now();
  gap.clock = ClockDomain::node_wall;
  gap.fields = {{"why", std::string(to_text(GapReason::spool_full))},
                {"lines", std::to_string(std::exchange(dropped_, 0))}};
  add(std::move(gap));
}

bool Outbox::send_batch(Duration deadline) {
  const Spool::Batch batch = spool_.read(batch_events_, limits_.batch_bytes_max);
  std::vector<Event> events;
  for (const std::string& record : batch.records) {
    auto event = parse_event(record);
    if (event.ok()) {
      events.push_back(std::move(event).value());
    } else {
      counters_.add("agent_spool_unreadable_total");
    }
  }
  const Status sent = events.empty() ? ok_status() : uplink_.send(events, deadline);
  const bool refused = !sent.ok() && sent.error().code == ErrorCode::invalid_argument;
  if (!refused) uplink_report_.batch(sent);
  if (sent.ok()) {
    spool_.acknowledge(batch);
    counters_.add("agent_events_sent_total", events.size());
    batch_events_ = limits_.batch_events_max;
    failures_ = 0;
    return true;
  }
  if (!refused) {
    pause_batches();
    return false;
  }
  // One event that the controller will never take must not stop all others: halve until it stands
  // alone.
  if (events.size() > 1) {
    batch_events_ = events.size() / 2;
    return true;
  }
  counters_.add("agent_events_refused_total");
  spdlog::warn("the controller refuses an event: {}", sent.error().message);
  spool_.acknowledge(batch);
  batch_events_ = limits_.batch_events_max;
  return true;
}

void Outbox::pause_batches() {
  const int doublings = std::min(failures_++, 16);
  const Duration pause = std::min(limits_.pause_max, limits_.pause_min * (1 << doublings));
  // A fifth earlier or later: ten thousand agents must not come back in the same moment.
  const auto share =
      static_cast<std::int64_t>(StableHash().add(node_).add(std::int64_t{failures_}).value() % 400);
  quiet_until_ = clock_.monotonic() + pause * (800 + share) / 1000;
}

bool Outbox::beat() {
  const Duration now = clock_.monotonic();
  // A wall clock that was stepped is told before the next event that it stamps.
  const Duration wall = clock_.now().time_since_epoch() - now;
  const bool stepped = wall - beat_wall_ > clock_step_min || beat_wall_ - wall > clock_step_min;
  if (now < heartbeat_due_ && !stepped) return reached_;
  beat_wall_ = wall;
  heartbeat_due_ = now + limits_.heartbeat;
  counters_.set("agent_spool_pending_events", spool_.pending());
  const bool tell_counters = now >= counters_due_;
  const Status beat =
      uplink_.heartbeat(clock_.now(), tell_counters ? counters_.snapshot() : CounterValues{});
  if (beat.ok() && tell_counters) counters_due_ = now + limits_.counters_every;
  uplink_report_.heartbeat(beat, now);
  if (!beat.ok()) {
    pause_batches();
  } else if (!reached_) {
    // Not after the refusal of a batch: a controller that is up and stores nothing keeps its
    // pauses.
    failures_ = 0;
    quiet_until_ = now;
  }
  reached_ = beat.ok();
  return reached_;
}

void Outbox::turn() {
  // Sources and launchers get their turn while a long spool is sent.
  constexpr int batches_per_turn_max = 8;
  const Duration now = clock_.monotonic();
  const bool due =
      now >= quiet_until_ && (spool_.pending() >= limits_.batch_events_max || now >= batch_due_);
  if (!beat() || !due) return;
  for (int i = 0; i < batches_per_turn_max && spool_.pending() > 0; ++i) {
    // A batch may take as long as its deadline.
    if (!send_batch(limits_.send_deadline) || !beat()) return;
  }
}

void Outbox::flush(Duration deadline) {
  while (spool_.pending() > 0) {
    const Duration left = deadline - clock_.monotonic();
    if (left <= Duration{0} || !send_batch(std::min(left, limits_.send_deadline))) return;
  }
}

Duration Outbox::idle_time() const {
  Duration due = heartbeat_due_;
  if (spool_.pending() > 0 && reached_) due = std::min(due, std::max(batch_due_, quiet_until_));
  return std::max(Duration{0}, due - clock_.monotonic());
}

}  // namespace faultline
