#include "ingest/flight_recorder_events.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "ingest/flight_recorder_rank.h"
#include "ingest/rank_ranges.h"
#include "ingest/stack_frames.h"

namespace faultline {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
constexpr Duration file_time_step_max = std::chrono::seconds{2};  // archives round that much

/// "all_reduce" of "nccl:all_reduce", "send" of "nccl:send 1->2".
std::string_view op_of(std::string_view profiling_name) {
  const auto colon = profiling_name.find(':');
  if (colon != std::string_view::npos) profiling_name.remove_prefix(colon + 1);
  return profiling_name.substr(0, profiling_name.find(' '));
}

/// For each entry the one that closed its batch; `none` if it is in no batch or the one that closes
/// it. PyTorch writes a batch's members first and then "coalesced", under the same number.
std::vector<std::uint32_t> batch_ends(const FlightRecorderDump& dump) {
  std::vector<std::uint32_t> ends(dump.entries.size(), none);
  std::vector<std::uint32_t> open(dump.groups.size(), none);
  for (auto i = static_cast<std::uint32_t>(dump.entries.size()); i-- > 0;) {
    const RecorderEntry& entry = dump.entries[i];
    std::uint32_t& end = open[entry.group];
    if (entry.profiling_name.ends_with("coalesced")) {
      end = i;
    } else if (end != none) {
      const RecorderEntry& closing = dump.entries[end];
      const bool member = entry.is_p2p == closing.is_p2p &&
                          (entry.is_p2p ? entry.p2p_seq_id == closing.p2p_seq_id
                                        : entry.collective_seq_id == closing.collective_seq_id);
      if (member) ends[i] = end;
      if (!member) end = none;
    }
  }
  return ends;
}

/// Members of a batch never change their own state. Where the recorder leaves out what is done, it
/// leaves out the entry that closed a batch and keeps its members: they are done as well. So it is
/// where several have one number and nothing closes them.
std::vector<bool> done_members(const FlightRecorderDump& dump,
                               const std::vector<std::uint32_t>& ends) {
  std::vector<bool> done(dump.entries.size());
  using Numbers = std::tuple<std::uint32_t, bool, std::int64_t, std::int64_t>;
  std::map<Numbers, std::vector<std::uint32_t>> unclosed;
  const auto numbers_of = [&](const RecorderEntry& entry) {
    return Numbers(entry.group, entry.is_p2p, entry.collective_seq_id, entry.p2p_seq_id);
  };
  for (std::uint32_t i = 0; i < dump.entries.size(); ++i) {
    const RecorderEntry& entry = dump.entries[i];
    const bool open = entry.state == OperationState::scheduled && ends[i] == none;
    if (open && !entry.profiling_name.ends_with("coalesced"))
      unclosed[numbers_of(entry)].push_back(i);
  }
  for (const auto& [numbers, members] : unclosed) {
    // A dump that was written in the midst of a batch ends with its members.
    const std::uint32_t last = members.back();
    const bool left_out = last + 1 < dump.entries.size() && dump.entries[last].record_id >= 0 &&
                          dump.entries[last + 1].record_id > dump.entries[last].record_id + 1;
    if (members.size() < 2 || !left_out) continue;
    for (const std::uint32_t i : members) done[i] = true;
  }
  return done;
}

/// True if the ring no longer has the first operation, or leaves some out (the completed ones, if
/// it is so configured). One that has none may still count what it had.
bool is_truncated(const FlightRecorderDump& dump) {
  const auto counts = [](const RecorderStatus& status) { return status.last_enqueued > 0; };
  if (dump.entries.empty()) return std::any_of(dump.statuses.begin(), dump.statuses.end(), counts);
  std::int64_t expected = 0;
  for (const RecorderEntry& entry : dump.entries) {
    if (entry.record_id >= 0 && entry.record_id != expected) return true;
    ++expected;
  }
  return dump.entries_left_out > 0;
}

/// PyTorch numbers most groups on each rank by itself, so that split groups of different ranks have
/// one name: "3[0-7]" and "3[8-15]". Group "0" is everybody's.
std::string unique_name(const RecorderGroup& group) {
  constexpr std::size_t short_bytes_max = 32;
  const bool is_number = group.name.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || group.name == "0" || group.ranks.empty()) return group.name;
  const std::string ranks = join(rank_ranges(group.ranks, field_bytes_max), ",");
  return group.name + '[' +
         (ranks.size() <= short_bytes_max ? ranks : '#' + StableHash().add(ranks).hex()) + ']';
}

struct Operation {
  std::uint32_t entry = none;
  std::int64_t seq = -1;
};

struct Lane {
  std::uint32_t group = 0;
  std::string name;
  std::int64_t last_seq = -1;
  std::int64_t count = 0;
  Operation completed;
  std::vector<Operation> first_pending;
  std::size_t pending = 0;
};

class EventWriter {
 public:
  EventWriter(const FlightRecorderDump& dump, const Origin& origin, Counters& counters)
      : dump_(dump),
        origin_(origin),
        counters_(counters),
        rank_(find_recorder_rank(dump, origin.rank)),
        truncated_(is_truncated(dump)),
        batch_ends_(batch_ends(dump)),
        done_members_(done_members(dump, batch_ends_)) {
    for (const RecorderGroup& group : dump.groups) group_names_.push_back(unique_name(group));
    for (const RecorderEntry& entry : dump.entries) newest_ = std::max(newest_, entry.created);
  }

  std::vector<Event> write() {
    write_trace();
    if (rank_.conflict) counters_.add("flight_recorder_rank_conflicts_total");
    if (rank_.rank < 0) {
      counters_.add("flight_recorder_rank_unknown_total");
      return std::move(events_);
    }
    for (std::size_t i = 0; i < dump_.groups.size(); ++i)
      write_group(group_names_[i], dump_.groups[i]);
    fill_lanes();
    for (const Lane& lane : lanes_) write_lane(lane);
    return std::move(events_);
  }

 private:
  using LaneKey = std::tuple<std::uint32_t, bool, std::int32_t>;  // group, is_send, peer

  // --- events ---

  Event& add_event(EventKind kind, Instant at, std::uint64_t offset, std::string_view text) {
    Event& event = events_.emplace_back();
    event.source = EventSource::collective_trace;
    event.kind = kind;
    event.attempt = origin_.attempt;
    const AttemptId attempt = origin_.attempt.value_or(AttemptId{"unknown", 0});
    event.subject = rank_.rank < 0 ? Subject::of_attempt(attempt)
                                   : Subject::of_rank(attempt, rank_.rank, origin_.node);
    event.observed_at = at;
    event.clock = known(at) ? ClockDomain::node_wall : ClockDomain::none;
    event.raw.path = origin_.path;
    event.raw.offset = offset;
    event.raw.text = printable(text, raw_text_bytes_max);
    return event;
  }
  /// Names come from outside: what cannot be printed is replaced. A cut is marked by three bytes.
  static void set(Event& event, std::string_view field, std::string_view value) {
    if (!value.empty()) event.fields.emplace(field, printable(value, field_bytes_max - 3));
  }
  static void set(Event& event, std::string_view field, std::int64_t value) {
    if (value >= 0) event.fields.emplace(field, std::to_string(value));
  }

  void write_trace() {
    Event& event = add_event(EventKind::trace_read, newest_, 0,
                             "flight recorder " + dump_.version + ", " +
                                 std::to_string(dump_.entries.size()) + " operations");
    set(event, "format", "flight_recorder");
    set(event, "version", dump_.version);
    set(event, "comm_lib", dump_.comm_lib_version);
    set(event, "entries", static_cast<std::int64_t>(dump_.entries.size()));
    for (const RecorderGroup& group : dump_.groups) {
      if (group.desc == "default_pg" && !group.ranks.empty())
        set(event, "world", static_cast<std::int64_t>(group.ranks.size()));
    }
    if (rank_.by == RecorderRank::By::contents) set(event, "rank_by", "contents");
    if (rank_.by == RecorderRank::By::name) set(event, "rank_by", "name");
    if (rank_.conflict) set(event, "rank_conflict", "1");
    if (truncated_) set(event, "truncated", "1");
    const Duration age = origin_.last_written - newest_;
    if (known(origin_.last_written) && known(newest_) && age > -file_time_step_max) {
      const auto age_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
      set(event, "written_after_ms", std::max<std::int64_t>(age_ms, 0));
    }
    if (const std::int64_t count = unretired(); count > 0) set(event, "unretired", count);
    event.id = make_event_id(event);
  }

  /// 0 where nothing at all is said to be put away: some recorders do not say it.
  [[nodiscard]] std::int64_t unretired() const {
    const auto count = [&](bool retired) {
      return std::count_if(dump_.entries.begin(), dump_.entries.end(), [&](const auto& entry) {
        return entry.state == OperationState::completed && entry.retired == retired;
      });
    };
    return count(true) == 0 ? 0 : count(false);
  }

  void write_group(const std::string& name, const RecorderGroup& group) {
    auto parts = rank_ranges(group.ranks, field_bytes_max - 3);
    if (parts.empty()) parts.emplace_back();
    for (const std::string& part : parts) {
      Event& event = add_event(EventKind::group_seen, newest_, group.offset,
                               "group " + group.name + " (" + group.desc + "): " + part);
      set(event, "group", name);
      set(event, "desc", group.desc);
      set(event, "ranks", part);
      event.id = make_event_id(event);
    }
  }

  void write_lane(const Lane& lane) {
    if (lane.completed.entry != none)
      write_operation(EventKind::operation_completed, lane, lane.completed);
    for (const Operation& operation : lane.first_pending)
      write_operation(EventKind::operation_pending, lane, operation);
  }

  void write_operation(EventKind kind, const Lane& lane, const Operation& operation) {
    const RecorderEntry& entry = dump_.entries[operation.entry];
    const std::string_view state = to_text(state_of(operation.entry));
    Event& event =
        add_event(kind, entry.created, entry.offset,
                  entry.profiling_name + " in group " + dump_.groups[lane.group].name +
                      ", record " + std::to_string(entry.record_id) + ", " + std::string(state));
    set(event, "group", group_names_[lane.group]);
    set(event, "lane", lane.name);
    set(event, "seq", operation.seq);
    set(event, "record", entry.record_id);
    if (entry.is_p2p) set(event, "batch", batch_of(operation.entry));
    set(event, "op", op_of(entry.profiling_name));
    set(event, "state", state);
    set(event, "in_sizes", over_batch(operation.entry, &RecorderEntry::in_sizes));
    set(event, "out_sizes", over_batch(operation.entry, &RecorderEntry::out_sizes));
    set(event, "in_dtypes", entry.in_dtypes);
    set(event, "out_dtypes", entry.out_dtypes);
    set(event, "timeout_ms", entry.timeout_ms);
    set(event, "last", lane.last_seq);
    set(event, "pending", static_cast<std::int64_t>(lane.pending));
    set(event, "frame", own_frame(dump_, entry));
    // Printable already, but for the ends of its lines.
    if (auto stack = stack_text(dump_, entry, field_bytes_max); !stack.empty())
      event.fields.emplace("stack", std::move(stack));
    event.id = make_event_id(event);
  }

  /// The record of the first of its batch that the ring still has; -1 if it is in none.
  [[nodiscard]] std::int64_t batch_of(std::uint32_t index) const {
    const std::uint32_t end = batch_ends_[index];
    if (end == none) return -1;
    while (index > 0 && batch_ends_[index - 1] == end) --index;
    return dump_.entries[index].record_id;
  }

  /// A batch of collectives brings the tensors of all its members.
  [[nodiscard]] std::string over_batch(std::uint32_t first,
                                       std::string RecorderEntry::*sizes) const {
    std::string text = dump_.entries[first].*sizes;
    const std::uint32_t end = batch_ends_[first];
    if (end == none || dump_.entries[first].is_p2p) return text;
    for (std::uint32_t i = first + 1; i < end && text.size() < field_bytes_max; ++i) {
      if (batch_ends_[i] == end && !(dump_.entries[i].*sizes).empty())
        text += ',' + dump_.entries[i].*sizes;
    }
    return text;
  }

  // --- lanes ---

  [[nodiscard]] OperationState state_of(std::uint32_t entry) const {
    const std::uint32_t end = batch_ends_[entry];
    if (done_members_[entry]) return OperationState::completed;
    return dump_.entries[end == none ? entry : end].state;
  }

  void fill_lanes() {
    std::vector<bool> told(dump_.entries.size());  // entries that close a batch already told
    for (std::uint32_t i = 0; i < dump_.entries.size(); ++i) {
      const RecorderEntry& entry = dump_.entries[i];
      const std::uint32_t end = batch_ends_[i];
      const bool more_of_a_batch = !entry.is_p2p && end != none && told[end];
      if (end != none) told[end] = true;
      if (!told[i] && !more_of_a_batch) add_operation(i);
    }
  }

  void add_operation(std::uint32_t index) {
    const RecorderEntry& entry = dump_.entries[index];
    RecorderTransfer transfer;
    const bool is_transfer = entry.is_p2p && parse_transfer(entry.profiling_name, transfer);
    // What closes a batch of transfers whose beginning is lost is on nobody's lane.
    if (entry.is_p2p && !is_transfer) return;
    const std::int32_t peer = is_transfer ? transfer.peer : -1;
    Lane* lane = lane_at({entry.group, transfer.is_send, peer});
    if (lane == nullptr) return;
    ++lane->count;
    std::int64_t seq = entry.collective_seq_id;
    if (is_transfer) seq = truncated_ ? -1 : lane->count;
    lane->last_seq = std::max(lane->last_seq, seq);
    if (state_of(index) == OperationState::completed) {
      lane->completed = {index, seq};
    } else if (++lane->pending <= lane_pending_max) {
      lane->first_pending.push_back({index, seq});
    }
  }

  /// nullptr if there are too many.
  Lane* lane_at(const LaneKey& key) {
    const auto known = lane_of_.find(key);
    if (known != lane_of_.end()) return &lanes_[known->second];
    if (lanes_.size() >= recorder_lanes_max) {
      counters_.add("flight_recorder_left_out_total");
      return nullptr;
    }
    lane_of_.emplace(key, lanes_.size());
    Lane& lane = lanes_.emplace_back();
    lane.group = std::get<0>(key);
    lane.name = lane_name(key);
    return &lane;
  }
  [[nodiscard]] std::string lane_name(const LaneKey& key) const {
    const auto& [group, is_send, peer] = key;
    if (peer < 0) return "collective";
    const auto& ranks = dump_.groups[group].ranks;
    const std::string to = is_send ? "send>" : "recv<";
    const auto place = static_cast<std::size_t>(peer);
    return place < ranks.size() ? to + std::to_string(ranks[place])
                                : to + '#' + std::to_string(peer);
  }

  const FlightRecorderDump& dump_;
  const Origin& origin_;
  Counters& counters_;
  RecorderRank rank_;
  bool truncated_;
  std::vector<std::uint32_t> batch_ends_;
  std::vector<bool> done_members_;
  std::vector<std::string> group_names_;
  Instant newest_;
  std::map<LaneKey, std::size_t> lane_of_;
  std::vector<Lane> lanes_;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> flight_recorder_events(const FlightRecorderDump& dump, const Origin& origin,
                                          Counters& counters) {
  return EventWriter(dump, origin, counters).write();
}

}  // namespace faultline
