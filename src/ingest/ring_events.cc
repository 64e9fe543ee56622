#include "ingest/ring_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t pending_max = 4;  // of a lane, as of a flight recorder's

/// MPI's world, or else the largest: there a rank has its number in the job.
std::int32_t rank_of(const RingSnapshot& ring) {
  if (ring.identity.rank >= 0) return ring.identity.rank;
  const RingCommunicator* largest = nullptr;
  for (const RingCommunicator& communicator : ring.communicators) {
    if (largest == nullptr || communicator.rank_count > largest->rank_count)
      largest = &communicator;
  }
  return largest == nullptr ? -1 : largest->rank;
}

bool is_transfer(const RingOperation& operation) {
  return operation.kind == "send" || operation.kind == "receive";
}

struct Lane {
  const RingOperation* completed = nullptr;
  std::vector<const RingOperation*> pending;  // in order
  std::uint64_t newest = 0;
};

class RingEvents {
 public:
  RingEvents(const RingSnapshot& ring, const std::string& path, const RingTime& until)
      : ring_(ring), path_(path), until_(until), rank_(rank_of(ring)) {
    for (const RingCommunicator& communicator : ring.communicators)
      world_ = std::max(world_, communicator.rank_count);
    world_ = std::max(world_, ring.identity.rank_count);
  }

  std::vector<Event> write() {
    if (rank_ < 0) return {};
    const std::size_t read = write_read();
    for (const RingCommunicator& communicator : ring_.communicators) write_group(communicator);
    finish_read(events_[read]);
    for (Event& event : events_) event.id = make_event_id(event);
    return std::move(events_);
  }

 private:
  Event& add(EventKind kind, const RingTime& at, std::string text) {
    Event& event = events_.emplace_back();
    const RingIdentity& me = ring_.identity;
    event.source = EventSource::collective_trace;
    event.kind = kind;
    event.attempt = AttemptId{me.job.empty() ? "unknown" : me.job,
                              static_cast<std::uint32_t>(std::max(me.restart, 0))};
    event.subject =
        Subject::of_rank(*event.attempt, rank_, valid_node_name(me.host) ? me.host : "");
    event.observed_at = at.is_known ? at.wall : Instant{};
    event.clock = at.is_known ? ClockDomain::node_wall : ClockDomain::none;
    event.raw.path = path_;
    event.raw.offset = events_.size();  // makes the events of one file different
    event.raw.text = std::move(text);
    return event;
  }
  static void set(Event& event, std::string_view name, std::string value) {
    if (!value.empty()) event.fields.emplace(name, std::move(value));
  }

  std::size_t write_read() {
    Event& event = add(EventKind::trace_read, ring_.last_sign, "black box");
    set(event, "format", "black_box");
    set(event, "comm_lib", ring_.identity.library);
    if (world_ > 0) set(event, "world", std::to_string(world_));
    set(event, "entries", std::to_string(ring_.communicators.size()));
    return events_.size() - 1;
  }

  /// Without a word on how long that is, nothing has been waited for.
  void finish_read(Event& event) const {
    if (!newest_.is_known) return;
    event.observed_at = newest_.wall;
    const Duration waited = until_.is_known ? until_.monotonic - newest_.monotonic : Duration{0};
    const auto waited_ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
    set(event, "written_after_ms", std::to_string(std::max<std::int64_t>(waited_ms, 0)));
    if (truncated_) set(event, "truncated", "1");
  }

  [[nodiscard]] bool is_world(const RingCommunicator& communicator) const {
    return communicator.rank_count == world_ && communicator.rank == rank_;
  }

  void write_group(const RingCommunicator& communicator) {
    if (communicator.rank_count == 1) return;
    const std::string group = fmt::format("{:#x}", communicator.id);
    Event& seen = add(EventKind::group_seen, communicator.opened, "communicator " + group);
    set(seen, "group", group);
    set(seen, "desc", communicator.name);
    set(seen, "ranks",
        is_world(communicator) ? "0-" + std::to_string(world_ - 1) : std::to_string(rank_));
    for (const auto& [name, lane] : lanes_of(communicator)) write_lane(group, name, lane);
  }

  std::map<std::string, Lane> lanes_of(const RingCommunicator& communicator) {
    std::map<std::string, Lane> lanes;
    const std::string mark = is_world(communicator) ? "" : "#";
    const auto lane_of = [&](const RingOperation& operation) -> Lane& {
      std::string name = "collective";
      if (is_transfer(operation))
        name =
            (operation.kind == "send" ? "send>" : "recv<") + mark + std::to_string(operation.peer);
      Lane& lane = lanes[std::move(name)];
      lane.newest = std::max(lane.newest, operation.sequence);
      return lane;
    };
    for (const RingOperation& operation : communicator.completed) {
      Lane& lane = lane_of(operation);
      if (lane.completed == nullptr || operation.sequence > lane.completed->sequence)
        lane.completed = &operation;
    }
    for (const RingOperation& operation : communicator.in_flight) {
      if (is_transfer(operation) && operation.peer < 0) continue;  // from anybody
      lane_of(operation).pending.push_back(&operation);
    }
    for (auto& [name, lane] : lanes) leave_out_passed(lane);
    truncated_ |=
        communicator.started > communicator.completed.size() + communicator.in_flight.size();
    return lanes;
  }

  static void leave_out_passed(Lane& lane) {
    std::erase_if(lane.pending, [&](const RingOperation* operation) {
      return lane.completed != nullptr && operation->channels_started == 0 &&
             operation->sequence < lane.completed->sequence;
    });
    std::sort(lane.pending.begin(), lane.pending.end(),
              [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  }

  void write_lane(const std::string& group, const std::string& name, const Lane& lane) {
    if (lane.completed != nullptr)
      write_operation(EventKind::operation_completed, group, name, lane, *lane.completed);
    for (std::size_t i = 0; i < std::min(lane.pending.size(), pending_max); ++i)
      write_operation(EventKind::operation_pending, group, name, lane, *lane.pending[i]);
  }

  /// Whether all ranks have to give the same count and type. MPI lets a receive have room for more,
  /// and members of gathers bring different amounts.
  [[nodiscard]] bool is_comparable(const RingOperation& operation) const {
    const std::string_view library = ring_.identity.library;
    if (is_transfer(operation)) return library.starts_with("nccl") || library.starts_with("rccl");
    return operation.kind != "gather" && operation.kind != "scatter" &&
           operation.kind != "all_to_all";
  }

  void write_operation(EventKind kind, const std::string& group, const std::string& lane_name,
                       const Lane& lane, const RingOperation& operation) {
    const bool is_over = kind == EventKind::operation_completed;
    const std::string op = operation.kind == "receive" ? "recv" : operation.kind;
    const std::string state = is_over                                      ? "completed"
                              : operation.phase == OperationPhase::running ? "started"
                                                                           : "scheduled";
    Event& event =
        add(kind, operation.started,
            op + " " + std::to_string(operation.sequence + 1) + " in " + group + ", " + state);
    set(event, "group", group);
    set(event, "lane", lane_name);
    set(event, "seq", std::to_string(operation.sequence + 1));
    set(event, "last", std::to_string(lane.newest + 1));
    set(event, "record", std::to_string(operation.started.monotonic.count()));
    set(event, "op", op);
    set(event, "state", state);
    if (is_comparable(operation)) {
      set(event, "in_sizes", std::to_string(operation.count));
      set(event, "in_dtypes", operation.data_type == "other" ? "" : operation.data_type);
    }
    if (!is_over) set(event, "pending", std::to_string(lane.pending.size()));
    if (operation.started.is_known &&
        (!newest_.is_known || operation.started.monotonic > newest_.monotonic))
      newest_ = operation.started;
  }

  const RingSnapshot& ring_;
  const std::string& path_;
  const RingTime& until_;
  std::int32_t rank_;
  std::int32_t world_ = -1;
  bool truncated_ = false;
  RingTime newest_;  // start of an operation
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> ring_events(const RingSnapshot& ring, const std::string& path,
                               const RingTime& until) {
  return RingEvents(ring, path, until).write();
}

}  // namespace faultline
