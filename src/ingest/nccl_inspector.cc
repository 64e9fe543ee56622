#include "ingest/nccl_inspector.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ingest/journal_json.h"
#include "ingest/nccl_names.h"
#include "model/json.h"
#include "model/names.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t text_bytes_max = 320;  // a record without its trace
constexpr std::int64_t rank_max = (1 << 24) - 1;
constexpr std::uint64_t micros_max = 4'102'444'800'000'000;  // the year 2100

const json& member(const json& object, const char* name) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::uint64_t whole(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::int64_t small(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number_unsigned()) return -1;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value.get<std::uint64_t>(), rank_max + 1));
}

std::string text(const json& object, const char* name, std::size_t bytes_max) {
  const json& value = member(object, name);
  return value.is_string() ? printable(value.get_ref<const std::string&>(), bytes_max)
                           : std::string();
}

}  // namespace

void NcclInspectorDecoder::feed(std::string_view bytes, std::uint64_t offset) {
  records_.feed(bytes, offset,
                [this](std::string_view record, std::uint64_t at) { take_record(record, at); });
}

void NcclInspectorDecoder::take_record(std::string_view record, std::uint64_t offset) {
  counters_.add("ingest_inspector_records_total");
  const auto parsed = parse_json(record);
  if (!parsed.ok()) return counters_.add("ingest_json_broken_total");
  const json& header = member(*parsed, "header");
  const json& metadata = member(*parsed, "metadata");
  const json& performance = member(*parsed, "coll_perf");
  const std::string group = communicator_name(text(header, "id", name_bytes_max));
  const std::int64_t rank = small(header, "rank");
  const std::int64_t size = small(header, "n_ranks");
  if (group.empty() || rank < 0 || rank > rank_max || size <= rank || !performance.is_object())
    return;
  const Process process{text(metadata, "hostname", host_bytes_max),
                        static_cast<std::int64_t>(whole(metadata, "pid"))};
  Lanes& lanes = processes_[process];
  if (!lanes.contains(group) && ++lanes_ > inspector_lanes_max) {
    if (lanes.empty()) processes_.erase(process);
    return counters_.add("ingest_inspector_too_many_total");
  }
  Lane& lane = lanes[group];
  ++lane.records;
  const auto number = static_cast<std::int64_t>(
      std::min<std::uint64_t>(whole(performance, "coll_sn"), std::uint64_t{1} << 62U));
  if (number < lane.newest) return;
  lane.newest = number;
  lane.rank = static_cast<std::int32_t>(rank);
  lane.size = static_cast<std::int32_t>(size);
  lane.op = text(performance, "coll", name_bytes_max);
  lane.bytes = whole(performance, "coll_msg_size_bytes");
  lane.exec_us = whole(performance, "coll_exec_time_us");
  const auto micros = whole(metadata, "dump_timestamp_us");
  if (micros < micros_max)
    lane.at = Instant{std::chrono::microseconds{static_cast<std::int64_t>(micros)}};
  lane.offset = offset;
  lane.text = printable(record, text_bytes_max);
  if (version_.empty())
    version_ = text(metadata, "inspector_output_format_version", name_bytes_max);
}

std::vector<Event> NcclInspectorDecoder::finish() {
  records_.finish();
  count_json_losses(records_.totals(), counters_);
  std::vector<Event> events;
  for (const auto& [process, lanes] : processes_) tell(process, lanes, events);
  processes_.clear();
  lanes_ = 0;
  return events;
}

/// -1 if it cannot be told.
std::int32_t NcclInspectorDecoder::rank_of(const Lanes& lanes) const {
  if (origin_.rank >= 0) return origin_.rank;
  const Lane* largest = nullptr;
  bool unique = false;
  for (const auto& [group, lane] : lanes) {
    if (largest != nullptr && lane.size < largest->size) continue;
    unique = largest == nullptr || lane.size > largest->size || lane.rank == largest->rank;
    largest = &lane;
  }
  return unique ? largest->rank : -1;
}

void NcclInspectorDecoder::tell(const Process& process, const Lanes& lanes,
                                std::vector<Event>& events) const {
  const std::int32_t rank = rank_of(lanes);
  if (rank < 0) return counters_.add("ingest_inspector_unplaced_total");
  const auto give = [&events](Event event) {
    event.id = make_event_id(event);
    events.push_back(std::move(event));
  };
  std::uint64_t records = 0;
  std::int32_t world = 0;
  for (const auto& [group, lane] : lanes) {
    records += lane.records;
    world = std::max(world, lane.size);
  }
  Event read = make(EventKind::trace_read, process, rank, lanes.begin()->second);
  read.fields = {{"format", "nccl_inspector"},
                 {"version", version_},
                 {"entries", std::to_string(records)},
                 {"world", std::to_string(world)},
                 {"pid", std::to_string(process.pid)}};
  give(std::move(read));
  for (const auto& [group, lane] : lanes) {
    Event seen = make(EventKind::group_seen, process, rank, lane);
    seen.fields = {{"group", group},
                   {"ranks", std::to_string(rank)},
                   {"size", std::to_string(lane.size)},
                   {"rank_in_group", std::to_string(lane.rank)}};
    give(std::move(seen));
    Event done = make(EventKind::operation_completed, process, rank, lane);
    done.fields = {{"group", group},
                   {"lane", "collective"},
                   {"op", lane.op},
                   {"seq", std::to_string(lane.newest)},
                   {"last", std::to_string(lane.newest)},
                   {"state", "completed"},
                   {"bytes", std::to_string(lane.bytes)},
                   {"exec_us", std::to_string(lane.exec_us)}};
    give(std::move(done));
  }
}

Event NcclInspectorDecoder::make(EventKind kind, const Process& process, std::int32_t rank,
                                 const Lane& lane) const {
  Event event;
  event.source = EventSource::collective_trace;
  event.kind = kind;
  event.reporter = origin_.node;
  const std::string node = valid_node_name(process.host) ? process.host : origin_.node;
  event.subject = Subject::of_rank(origin_.attempt.value_or(AttemptId{"unknown", 0}), rank, node);
  event.attempt = origin_.attempt;
  event.observed_at = lane.at;
  event.clock = known(lane.at) ? ClockDomain::node_wall : ClockDomain::none;
  event.raw = {origin_.path, lane.offset, origin_.boot_id, lane.text};
  return event;
}

}  // namespace faultline
