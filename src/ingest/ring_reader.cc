#include "ingest/ring_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "ingest/ring_clock.h"
#include "ingest/ring_records.h"
#include "ringfmt/ring_layout.h"

namespace faultline {
namespace {

using namespace ringfmt;

Status check_header(const Header& header) {
  if (header.magic == 0) {
    return Error{ErrorCode::unavailable,
                 "this black box is still being set up, or its process ended meanwhile"};
  }
  if (header.magic != ring_magic)
    return Error{ErrorCode::invalid_argument, "this is no black box of faultline"};
  if (header.byte_order != ring_byte_order) {
    return Error{ErrorCode::invalid_argument, "this black box was written in another byte order"};
  }
  if (header.version != ring_version) {
    return Error{ErrorCode::invalid_argument,
                 "this black box has version " + std::to_string(header.version) +
                     "; this faultline reads version " + std::to_string(ring_version) +
                     ": read it with the faultline that it was written by"};
  }
  const bool fits =
      header.file_bytes == ring_bytes && header.header_bytes == sizeof(Header) &&
      header.anchor_bytes == sizeof(Anchor) && header.communicator_bytes == sizeof(Communicator) &&
      header.operation_bytes == sizeof(Operation) && header.peer_bytes == sizeof(Peer) &&
      header.anchor_count == anchors_max && header.communicator_count == communicators_max &&
      header.operation_count == operations_max && header.peer_count == peers_max;
  if (!fits)
    return Error{ErrorCode::corrupt,
                 "this black box says that its records have sizes that no writer gives them"};
  return ok_status();
}

class SnapshotMaker {
 public:
  explicit SnapshotMaker(RingRecords& records) : records_(records) {}

  RingSnapshot make(const Header& header) {
    add_identity(header);
    const auto anchors = records_.read<Anchor>(anchors_offset, anchors_max);
    std::vector<Anchor> whole;
    for (const auto& record : anchors) {
      if (!record.torn && record.value.stamp != 0) whole.push_back(record.value);
    }
    const RingClock clock(whole, header.ticks_per_second, snapshot_.problems);
    clock_ = &clock;
    see(clock.last_anchor_ticks());
    const auto communicators = records_.read<Communicator>(communicators_offset, communicators_max);
    for (std::uint32_t place = 0; place < communicators.size(); ++place)
      add_communicator(communicators[place], place);
    for (const auto& peer : records_.read<Peer>(peers_offset, peers_max))
      add_peer(peer, communicators);
    snapshot_.problems.merge(CounterValues(records_.problems()));
    clock_ = nullptr;
    return std::move(snapshot_);
  }

 private:
  void count(const char* problem) { ++snapshot_.problems[problem]; }

  template <std::size_t Bytes>
  std::string text(const char (&from)[Bytes]) {
    const std::string_view all(from, Bytes);
    const std::size_t end = all.find('\0');
    if (end == std::string_view::npos) count("endless_texts");
    std::string shown = printable(all.substr(0, end), Bytes);
    if (shown != all.substr(0, end)) count("odd_texts");
    return shown;
  }

  template <std::size_t Count>
  std::string word(const char* const (&words)[Count], std::uint64_t number) {
    if (number < Count) return words[number];
    count("unknown_words");
    return std::to_string(number);
  }

  /// A number of which -1 is not known.
  std::int32_t number(std::int32_t value) {
    if (value >= -1) return value;
    count("wild_numbers");
    return -1;
  }

  RingTime time(std::uint64_t ticks) const { return clock_->at(ticks, snapshot_.problems); }

  /// The newest time in the file is the process's last sign of life.
  RingTime see(std::uint64_t ticks) {
    const RingTime seen = time(ticks);
    if (seen.is_known &&
        (!snapshot_.last_sign.is_known || seen.monotonic > snapshot_.last_sign.monotonic))
      snapshot_.last_sign = seen;
    return seen;
  }

  void add_identity(const Header& header) {
    RingIdentity& me = snapshot_.identity;
    me.host = text(header.host);
    me.job = text(header.job);
    me.boot_id = text(header.boot_id);
    me.gpu_address = text(header.gpu_address);
    me.gpu_uuid = text(header.gpu_uuid);
    me.library = text(header.library);
    me.pid = header.pid;
    me.uid = header.uid;
    me.process_start = header.process_start;
    me.pid_namespace = header.pid_namespace;
    me.rank = number(header.rank);
    me.local_rank = number(header.local_rank);
    me.rank_count = number(header.rank_count);
    me.restart = number(header.restart);
    if (header.created_wall_ns > 0) me.created = Instant{Duration{header.created_wall_ns}};
    snapshot_.state = word(state_words, header.state);
    snapshot_.disabled_reason = word(disabled_words, header.disabled_reason);
    snapshot_.ticks = word(tick_words, header.tick_kind);
    for (std::uint32_t kind = 0; kind < drop_kinds; ++kind) {
      if (header.drops[kind] != 0) snapshot_.drops[drop_words[kind]] = header.drops[kind];
    }
  }

  void add_communicator(const RingRecord<Communicator>& record, std::uint32_t place) {
    const Communicator& from = record.value;
    if (from.stamp == 0) return;
    if (from.stamp % 2 != 0) return count("half_written");
    RingCommunicator to;
    to.place = place;
    to.torn = record.torn;
    to.id = from.id;
    to.name = text(from.name);
    to.rank = number(from.rank);
    to.rank_count = number(from.rank_count);
    to.node_count = number(from.node_count);
    to.device = number(from.device);
    if (to.rank_count >= 0 && to.rank >= to.rank_count) count("wild_numbers");
    to.shared = (from.flags & communicator_shared) != 0;
    to.is_open = from.closed_ticks == 0;
    to.opened = see(from.opened_ticks);
    to.closed = see(from.closed_ticks);
    to.last_started = see(from.last_started_ticks);
    to.last_finished = see(from.last_finished_ticks);
    to.started = from.started;
    to.finished = from.finished;
    to.dropped = from.dropped;
    add_operations(to, from.stamp / 2);
    snapshot_.communicators.push_back(std::move(to));
  }

  void add_operations(RingCommunicator& to, std::uint64_t generation) {
    const std::uint64_t offset =
        operations_offset + std::uint64_t{to.place} * operations_max * sizeof(Operation);
    for (const auto& record : records_.read<Operation>(offset, operations_max)) {
      const OperationStart& start = record.value.start;
      // Never used, or of a communicator that had this place before.
      if (start.stamp == 0 || start.communicator_generation != generation) continue;
      if (start.stamp % 2 != 0) {
        count("half_written");
        continue;
      }
      RingOperation operation = operation_of(record);
      (operation.phase == OperationPhase::over ? to.completed : to.in_flight)
          .push_back(std::move(operation));
    }
    const auto began = [](const RingOperation& operation) { return operation.started.monotonic; };
    std::ranges::stable_sort(to.in_flight, {}, began);
    std::ranges::stable_sort(to.completed, std::ranges::greater{}, began);
  }

  RingOperation operation_of(const RingRecord<Operation>& record) {
    const OperationStart& from = record.value.start;
    RingOperation to;
    to.torn = record.torn;
    to.kind = word(operation_words, from.kind);
    to.data_type = word(data_type_words, from.data_type);
    to.algorithm = word(algorithm_words, from.algorithm);
    to.protocol = word(protocol_words, from.protocol);
    to.sequence = from.sequence;
    to.count = from.count;
    to.user_tag = from.user_tag;
    to.peer = number(from.peer);
    if (from.channel_count != channels_unknown) {
      to.channels = std::min<unsigned>(from.channel_count, channels_max);
      if (to.channels != from.channel_count) count("wild_numbers");
    }
    to.captured = (from.flags & operation_captured) != 0;
    to.blocking = (from.flags & operation_blocking) != 0;
    to.started = see(from.started_ticks);
    to.enqueued = see(from.enqueued_ticks);
    to.phase = from.enqueued_ticks != 0 ? OperationPhase::enqueued : OperationPhase::called;
    add_progress(to, record.value);
    return to;
  }

  void add_progress(RingOperation& to, const Operation& from) {
    const std::uint64_t generation = from.progress.stamp / 2;
    if (generation != from.start.stamp / 2) {
      // That of the operation before is one behind; it wraps.
      const std::uint64_t behind = (from.start.stamp / 2 - generation) & generation_mask;
      if (generation > generation_mask || behind > generation_mask / 2) count("wild_generations");
      return;
    }
    to.channels_started = static_cast<unsigned>(std::popcount(from.progress.channels_started));
    to.channels_stopped = static_cast<unsigned>(std::popcount(from.progress.channels_stopped));
    to.first_channel = see(from.progress.first_start_ticks);
    to.ended = see(from.progress.last_stop_ticks);
    to.gpu_first_start_ns = from.progress.gpu_first_start_ns;
    to.gpu_last_stop_ns = from.progress.gpu_last_stop_ns;
    if (to.gpu_first_start_ns != 0 && to.gpu_last_stop_ns != 0 &&
        to.gpu_last_stop_ns < to.gpu_first_start_ns)
      count("stops_before_starts");
    if (from.progress.stamp % 2 != 0) {
      to.phase = OperationPhase::over;
      to.outcome = word(outcome_words, from.progress.outcome);
    } else if (to.channels_started + to.channels_stopped != 0) {
      to.phase = OperationPhase::running;
    }
  }

  void add_peer(const RingRecord<Peer>& record,
                const std::vector<RingRecord<Communicator>>& communicators) {
    const Peer& from = record.value;
    if (from.key == 0) return;
    RingPeer to;
    to.communicator = from.key >> 32U & 0xffU;
    to.rank = number(static_cast<std::int32_t>(from.key & 0xffffffffU));
    to.torn = record.torn;
    if (to.communicator >= communicators.size()) return count("wild_numbers");
    // Of a communicator that is no more: nobody has taken the place since.
    if (communicators[to.communicator].value.stamp / 2 != from.key >> 40U) return;
    to.sends_started = from.sends_started;
    to.sends_finished = from.sends_finished;
    to.receives_started = from.receives_started;
    to.receives_finished = from.receives_finished;
    to.last_end = see(from.last_end_ticks);
    for (std::uint32_t kind = 0; kind < wait_kinds; ++kind) {
      RingWait& wait = to.waits[kind];
      wait.total = clock_->length(from.wait_ticks[kind]);
      wait.ended = from.waits[kind];
      wait.open = from.open[kind];
      if (wait.open != 0) wait.open_since = see(from.open_since_ticks[kind]);
    }
    snapshot_.peers.push_back(to);
  }

  RingRecords& records_;
  const RingClock* clock_ = nullptr;
  mutable RingSnapshot snapshot_;
};

}  // namespace

Result<RingSnapshot> read_ring(RingBytes& bytes) {
  RingRecords records(bytes);
  const auto headers = records.read<Header>(0, 1);
  if (headers.empty())
    return Error{ErrorCode::corrupt, "this file is shorter than the head of a black box"};
  FAULTLINE_TRY(check_header(headers[0].value));
  return SnapshotMaker(records).make(headers[0].value);
}

}  // namespace faultline
