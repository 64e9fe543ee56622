// The C ABI: each function checks what came from outside and calls the inline one.
#include "trace/faultline_trace.h"

#include <errno.h>

#include "trace/communicators.h"
#include "trace/ring_peers.h"
#include "trace/ring_setup.h"
#include "trace/ring_text.h"

namespace {

using namespace faultline;
using namespace faultline::trace;

static_assert(static_cast<int>(StartError::system) == FAULTLINE_REFUSED);
static_assert(static_cast<int>(ringfmt::WaitKind::receive_gpu) == FAULTLINE_RECEIVE_GPU);
static_assert(static_cast<int>(Transfer::receive_finished) == FAULTLINE_RECEIVE_FINISHED);
static_assert(static_cast<int>(ringfmt::Outcome::launched) == FAULTLINE_LAUNCHED);
static_assert(ringfmt::channels_unknown == FAULTLINE_CHANNELS_UNKNOWN);
static_assert(ringfmt::communicator_shared == FAULTLINE_SHARED);

constexpr std::uint32_t communicator_facts_bytes = sizeof(faultline_communicator_facts);
constexpr std::uint32_t operation_facts_bytes = sizeof(faultline_operation_facts);

void bad_call(Writer& writer) {
  if (ringfmt::Ring* ring = detail::ring_of(writer)) detail::drop(*ring, ringfmt::Drop::bad_calls);
}

}  // namespace

extern "C" {

int faultline_trace_start(const char* library) {
  const int before = errno;
  const StartError error = start_ring(library);
  errno = before;
  return static_cast<int>(error);
}

void faultline_trace_stop(void) { stop_ring(); }

int faultline_trace_is_on(void) {
  const Writer* writer = process_writer();
  return writer != nullptr && detail::ring_of(*writer) != nullptr ? 1 : 0;
}

const char* faultline_trace_path(void) { return ring_path(); }

uint64_t faultline_trace_now(void) {
  const Writer* writer = process_writer();
  return writer == nullptr ? 0 : read_ticks(writer->ticks);
}

void faultline_trace_gpu(const char* address, const char* uuid) {
  Writer* writer = process_writer();
  ringfmt::Ring* ring = writer == nullptr ? nullptr : detail::ring_of(*writer);
  if (ring == nullptr) return;
  bool whole = address == nullptr || copy_text(ring->header.gpu_address, address);
  whole = (uuid == nullptr || copy_text(ring->header.gpu_uuid, uuid)) && whole;
  if (!whole) detail::drop(*ring, ringfmt::Drop::texts);
}

void faultline_trace_anchor(uint64_t gpu_ns) {
  if (Writer* writer = process_writer()) write_anchor(*writer, gpu_ns);
}

faultline_communicator faultline_communicator_open(const faultline_communicator_facts* facts) {
  Writer* writer = process_writer();
  if (writer == nullptr) return 0;
  if (facts == nullptr || facts->size < communicator_facts_bytes) {
    bad_call(*writer);
    return 0;
  }
  CommunicatorFacts known;
  known.id = facts->id;
  known.rank = facts->rank;
  known.rank_count = facts->rank_count;
  known.node_count = facts->node_count;
  known.device = facts->device;
  known.flags = facts->flags;
  known.name = facts->name;
  return open_communicator(*writer, known);
}

void faultline_communicator_close(faultline_communicator communicator) {
  if (Writer* writer = process_writer()) close_communicator(*writer, communicator);
}

faultline_operation faultline_operation_start(faultline_communicator communicator,
                                              const faultline_operation_facts* facts) {
  Writer* writer = process_writer();
  if (writer == nullptr) return 0;
  if (facts == nullptr || facts->size < operation_facts_bytes) {
    bad_call(*writer);
    return 0;
  }
  OperationFacts known;
  known.kind = static_cast<ringfmt::OperationKind>(facts->kind);
  known.data_type = static_cast<ringfmt::DataType>(facts->data_type);
  known.algorithm = static_cast<ringfmt::Algorithm>(facts->algorithm);
  known.protocol = static_cast<ringfmt::Protocol>(facts->protocol);
  known.channel_count = facts->channel_count;
  known.flags = facts->flags;
  known.peer = facts->peer;
  known.sequence = facts->sequence;
  known.count = facts->count;
  known.user_tag = facts->user_tag;
  return start_operation(*writer, communicator, known);
}

void faultline_operation_enqueued(faultline_operation operation) {
  if (Writer* writer = process_writer()) enqueue_operation(*writer, operation);
}

void faultline_channel_start(faultline_operation operation, uint32_t channel, uint64_t gpu_ns) {
  if (Writer* writer = process_writer()) start_channel(*writer, operation, channel, gpu_ns);
}

void faultline_channel_stop(faultline_operation operation, uint32_t channel, uint64_t gpu_ns) {
  if (Writer* writer = process_writer()) stop_channel(*writer, operation, channel, gpu_ns);
}

void faultline_operation_finish(faultline_operation operation, int outcome) {
  Writer* writer = process_writer();
  if (writer == nullptr) return;
  if (outcome < FAULTLINE_DONE || outcome > FAULTLINE_LAUNCHED) return bad_call(*writer);
  finish_operation(*writer, operation, static_cast<ringfmt::Outcome>(outcome));
}

faultline_peer faultline_peer_find(faultline_communicator communicator, int32_t rank) {
  Writer* writer = process_writer();
  return writer == nullptr ? 0 : find_peer(*writer, communicator, rank);
}

uint64_t faultline_transfer_count(faultline_peer peer, int what) {
  Writer* writer = process_writer();
  if (writer == nullptr) return 0;
  if (what < FAULTLINE_SEND_STARTED || what > FAULTLINE_RECEIVE_FINISHED) {
    bad_call(*writer);
    return 0;
  }
  return count_transfer(*writer, peer, static_cast<Transfer>(what));
}

uint64_t faultline_wait_begin(faultline_peer peer, int kind) {
  Writer* writer = process_writer();
  if (writer == nullptr) return 0;
  if (kind < 0 || kind >= static_cast<int>(ringfmt::wait_kinds)) {
    bad_call(*writer);
    return 0;
  }
  return begin_wait(*writer, peer, static_cast<ringfmt::WaitKind>(kind));
}

void faultline_wait_end(faultline_peer peer, int kind, uint64_t token) {
  Writer* writer = process_writer();
  if (writer == nullptr) return;
  if (kind < 0 || kind >= static_cast<int>(ringfmt::wait_kinds)) return bad_call(*writer);
  end_wait(*writer, peer, static_cast<ringfmt::WaitKind>(kind), token);
}

void* faultline_trace_writer(uint32_t layout) {
  return layout == ringfmt::ring_version ? process_writer() : nullptr;
}

}  // extern "C"
