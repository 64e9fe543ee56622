// What the descriptors of the versions say of an operation, in the black box's words.
#pragma once

#include "trace/nccl/profiler_abi.h"
#include "trace/nccl/profiler_words.h"
#include "trace/ring_writer.h"

namespace faultline::trace::nccl {

template <int version>
inline std::uint64_t type_of(const Descriptor& event) {
  return version >= version_with_wide_types ? event.type : event.type & 0xffU;
}

inline bool has_root(ringfmt::OperationKind kind) {
  using enum ringfmt::OperationKind;
  return kind == broadcast || kind == reduce || kind == gather || kind == scatter;
}

template <int version>
OperationFacts facts_of_collective(const Descriptor& event, LastWords& words) {
  OperationFacts facts;
  if constexpr (version >= version_with_identity) {
    const Collective& from = event.collective;
    facts.kind = words.func.of(from.func, &operation_kind_of);
    facts.data_type = words.data_type.of(from.data_type, &data_type_of);
    facts.algorithm = words.algorithm.of(from.algorithm, &algorithm_of);
    facts.protocol = words.protocol.of(from.protocol, &protocol_of);
    facts.channel_count = from.channel_count;
    facts.count = from.count;
    facts.peer = from.root;
    if constexpr (version >= 7) facts.user_tag = from.user_tag;
  } else {
    const EarlyCollective& from = event.early_collective;
    facts.count = from.count;
    facts.peer = from.root;
    if constexpr (version == 1) {
      facts.kind = operation_kind_of(from.func_number);
      facts.data_type = data_type_of(from.data_type_number);
      facts.algorithm = algorithm_of(from.v1.algorithm);
      facts.protocol = protocol_of(from.v1.protocol);
    } else if constexpr (version == 2) {
      facts.kind = operation_kind_of(from.func);
      facts.data_type = data_type_of(from.v2.data_type);
      facts.algorithm = algorithm_of(from.v2.algorithm);
      facts.protocol = protocol_of(from.v2.protocol);
    } else {
      facts.kind = operation_kind_of(from.func);
      facts.data_type = data_type_of(from.v3.data_type);
      facts.algorithm = algorithm_of(from.v3.algorithm);
      facts.protocol = protocol_of(from.v3.protocol);
      facts.channel_count = from.v3.channel_count;
    }
  }
  if (!has_root(facts.kind)) facts.peer = -1;
  return facts;
}

/// Its number of channels is not known: what NCCL says is the most, and parts without bytes have
/// none.
template <int version>
OperationFacts facts_of_p2p(const Descriptor& event, LastWords& words) {
  OperationFacts facts;
  facts.channel_count = ringfmt::channels_unknown;
  if constexpr (version >= version_with_identity) {
    const P2p& from = event.p2p;
    facts.kind = words.func.of(from.func, &operation_kind_of);
    facts.data_type = words.data_type.of(from.data_type, &data_type_of);
    facts.count = from.count;
    facts.peer = from.peer;
    if constexpr (version >= 7) facts.user_tag = from.user_tag;
  } else {
    const EarlyP2p& from = event.early_p2p;
    if constexpr (version == 1) {
      facts.kind = operation_kind_of(from.func_number);
      facts.data_type = data_type_of(from.data_type_number);
    } else {
      facts.kind = operation_kind_of(from.func);
      facts.data_type = data_type_of(from.data_type);
    }
    facts.count = from.count;
    facts.peer = from.peer;
  }
  return facts;
}

inline OperationFacts facts_of_copy(const Descriptor& event) {
  OperationFacts facts;
  facts.kind = operation_kind_of(event.copy_collective.func);
  facts.data_type = data_type_of(event.copy_collective.data_type);
  facts.algorithm = ringfmt::Algorithm::other;
  facts.count = event.copy_collective.count;
  facts.peer = has_root(facts.kind) ? event.copy_collective.root : -1;
  return facts;
}

/// Before version 4 only its operations say which communicator it is.
template <int version>
std::uint64_t communicator_id_of(const Descriptor& event) {
  return type_of<version>(event) == event_p2p ? event.early_p2p.communicator_id
                                              : event.early_collective.communicator_id;
}

}  // namespace faultline::trace::nccl
