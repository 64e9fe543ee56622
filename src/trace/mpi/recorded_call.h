// One call of MPI in the black box: it starts, and ends when the call comes back or, of one that
// does not wait, when its request completes.
#pragma once

#include "trace/mpi/communicator_state.h"
#include "trace/mpi/data_types.h"
#include "trace/ring_peers.h"

namespace faultline::trace::mpi {

struct CallFacts {
  ringfmt::OperationKind kind;
  MPI_Datatype type;
  std::int64_t count;
  int peer;  // or root; -1: none
  bool is_blocking;
};

inline CallFacts not_waiting(CallFacts call) {
  call.is_blocking = false;
  return call;
}

/// Of a transfer: what is counted at its end, too.
struct RecordedCall {
  OperationHandle operation;  // 0: not recorded
  PeerHandle peer;
  Transfer end;
  std::uint64_t wait;  // its token
  ringfmt::WaitKind wait_kind;
};

inline RecordedCall start_call(CommunicatorState& state, const CallFacts& call,
                               std::uint64_t sequence) {
  OperationFacts facts;
  facts.kind = call.kind;
  facts.data_type =
      call.type == MPI_DATATYPE_NULL ? ringfmt::DataType::other : data_type_of(call.type);
  facts.flags = call.is_blocking ? ringfmt::operation_blocking : 0;
  facts.peer = call.peer;
  facts.sequence = sequence;
  facts.count = call.count < 0 ? 0 : static_cast<std::uint64_t>(call.count);
  return {start_operation(*recording_writer(), state.communicator, facts), 0,
          Transfer::send_finished, 0, ringfmt::WaitKind::send_network};
}

inline RecordedCall start_collective(MPI_Comm comm, const CallFacts& call) {
  if (recording_writer() == nullptr) return {};
  CommunicatorState& state = state_of(comm);
  if (state.communicator == 0) return {};
  return start_call(state, call, add_shared(state.collectives, std::uint64_t{1}));
}

/// A peer that is a wildcard, or none at all, has no number and no waits.
inline RecordedCall start_transfer(MPI_Comm comm, const CallFacts& call) {
  if (recording_writer() == nullptr || call.peer == MPI_PROC_NULL) return {};
  CommunicatorState& state = state_of(comm);
  if (state.communicator == 0) return {};
  const bool is_send = call.kind == ringfmt::OperationKind::send;
  Writer& writer = *recording_writer();
  const PeerHandle peer = call.peer < 0 ? 0 : find_peer(writer, state.communicator, call.peer);
  const std::uint64_t sequence =
      count_transfer(writer, peer, is_send ? Transfer::send_started : Transfer::receive_started);
  CallFacts known = call;
  if (known.peer < 0) known.peer = -1;
  RecordedCall recorded = start_call(state, known, sequence);
  recorded.peer = peer;
  recorded.end = is_send ? Transfer::send_finished : Transfer::receive_finished;
  recorded.wait_kind =
      is_send ? ringfmt::WaitKind::send_network : ringfmt::WaitKind::receive_network;
  if (call.is_blocking && peer != 0) recorded.wait = begin_wait(writer, peer, recorded.wait_kind);
  return recorded;
}

inline void finish_call(const RecordedCall& call, int result) {
  Writer* writer = recording_writer();
  if (writer == nullptr || call.operation == 0) return;
  if (call.wait != 0) end_wait(*writer, call.peer, call.wait_kind, call.wait);
  if (call.peer != 0) count_transfer(*writer, call.peer, call.end);
  finish_operation(*writer, call.operation,
                   result == MPI_SUCCESS ? ringfmt::Outcome::done : ringfmt::Outcome::failed);
}

}  // namespace faultline::trace::mpi
