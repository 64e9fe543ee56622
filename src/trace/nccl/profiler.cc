#include "trace/nccl/profiler.h"

#include <type_traits>

#include "trace/faultline_trace.h"
#include "trace/nccl/gpu_identity.h"

namespace faultline::trace::nccl {

namespace {

constexpr int steps_mask = event_proxy_op | event_proxy_step;

const char* reason_of(int start_result) {
  switch (start_result) {
    case FAULTLINE_SWITCHED_OFF: return "FAULTLINE_TRACE is off";
    case FAULTLINE_NO_FOLDER: return "its folder cannot be had (FAULTLINE_RING_DIR)";
    case FAULTLINE_FOLDER_FULL: return "its folder is full";
    case FAULTLINE_NO_SPACE: return "no shared memory is left";
    default: return "the system refused it";
  }
}

void open_communicator_of(Context& context, const CommunicatorFacts& facts) {
  faultline_communicator_facts known{};
  known.size = sizeof known;
  known.flags = facts.flags;
  known.id = facts.id;
  known.rank = facts.rank;
  known.rank_count = facts.rank_count;
  known.node_count = facts.node_count;
  known.device = facts.device;
  known.name = facts.name;
  context.communicator = faultline_communicator_open(&known);
}

}  // namespace

bool Profiler::start_black_box(Logger log) {
  const int result = faultline_trace_start("nccl");
  if (result != FAULTLINE_OK) {
    if (log != nullptr)
      log(log_warn, log_profile, "faultline", 0, "faultline: no black box: %s", reason_of(result));
    return false;
  }
  writer_ = static_cast<Writer*>(faultline_trace_writer(ringfmt::ring_version));
  if (log != nullptr)
    log(log_info, log_profile, "faultline", 0, "faultline: black box %s", faultline_trace_path());
  return writer_ != nullptr;
}

Context* Profiler::take_context() {
  for (std::uint32_t probe = 0; probe < contexts_max; ++probe) {
    Context& context = contexts_[add_shared(next_context_, 1U) % contexts_max];
    if (swap_if(context.in_use, 0U, 1U)) return &context;
  }
  return nullptr;
}

int Profiler::mask_for(int version) const {
  int mask = event_collective | event_p2p;
  if (version >= version_with_channels) mask |= event_kernel_channel;
  if (version >= 6) mask |= event_copy_collective;
  if (load(steps_are_on_) != 0) mask |= steps_mask;
  return mask | chained_.mask();
}

int Profiler::init(int version, void** context, int* mask, const CommunicatorFacts& facts,
                   Logger log) {
  const bool is_recorded = start_black_box(log);
  chained_.open(version, log);
  Context* mine = is_recorded || chained_.is_open() ? take_context() : nullptr;
  if (mine == nullptr) {
    if (is_recorded) faultline_trace_stop();
    return result_system_error;  // NCCL goes on without us
  }
  mine->rank = facts.rank;
  mine->collectives = 0;
  mine->words = {};
  mine->communicator = 0;
  mine->is_recorded = is_recorded ? 1 : 0;
  mine->is_chained = chained_.init(facts, log, mine->chained) ? 1 : 0;
  if (is_recorded) {
    const GpuIdentity gpu = current_gpu();
    faultline_trace_gpu(gpu.address, gpu.uuid);
    CommunicatorFacts known = facts;
    known.device = gpu.device;
    if (version >= version_with_identity) open_communicator_of(*mine, known);
  }
  mask_ = mask;
  store(*mask, mask_for(version));
  *context = mine;
  return result_success;
}

int Profiler::finalize(Context& context) {
  if (load(context.in_use) == 0) return result_success;
  if (context.is_chained != 0) chained_.finalize(context.chained);
  faultline_communicator_close(context.communicator);
  if (context.is_recorded != 0) faultline_trace_stop();
  context.communicator = 0;
  store_release(context.in_use, 0U);
  return result_success;
}

/// Somebody asks for the steps of so many operations to come (Header::steps_wanted): NCCL looks at
/// its mask when the next is enqueued.
void Profiler::follow_wish_for_steps() {
  ringfmt::Ring* ring = detail::ring_of(*writer_);
  if (ring == nullptr) return;
  const std::uint32_t wanted = load(ring->header.steps_wanted);
  const std::uint32_t are_on = load(steps_are_on_);
  if (wanted == 0 && are_on == 0) return;
  if (wanted != 0) store(ring->header.steps_wanted, wanted - 1);
  if ((wanted != 0) == (are_on != 0)) return;
  store(steps_are_on_, wanted != 0 ? 1U : 0U);
  if (wanted != 0) {
    __atomic_fetch_or(mask_, steps_mask, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_and(mask_, ~steps_mask | chained_.mask(), __ATOMIC_RELAXED);
  }
}

template <int version>
EventHandle Profiler::start_operation_of(Context& context, const Descriptor& event) {
  if constexpr (version < version_with_identity) {
    if (context.communicator == 0) {
      CommunicatorFacts facts;
      facts.id = communicator_id_of<version>(event);
      facts.rank = event.rank;
      facts.name = event.early_collective.communicator_name;  // in the same place of both kinds
      open_communicator_of(context, facts);
    }
  }
  follow_wish_for_steps();
  const std::uint64_t type = type_of<version>(event);
  if (type == event_p2p) return start_p2p<version>(context, event);
  const bool is_copy = type == event_copy_collective;
  OperationFacts facts =
      is_copy ? facts_of_copy(event) : facts_of_collective<version>(event, context.words);
  if ((load(*mask_) & event_kernel_channel) == 0) facts.channel_count = 0;
  facts.sequence = context.collectives++;
  return handle_of(start_operation(*writer_, context.communicator, facts));
}

template <int version>
EventHandle Profiler::start_p2p(Context& context, const Descriptor& event) {
  OperationFacts facts = facts_of_p2p<version>(event, context.words);
  const bool moves_nothing = facts.peer == context.rank || facts.count == 0;
  if (moves_nothing || version < version_with_channels ||
      (load(*mask_) & event_kernel_channel) == 0) {
    facts.channel_count = 0;
  }
  const PeerHandle peer = find_peer(*writer_, context.communicator, facts.peer);
  const bool is_send = facts.kind == ringfmt::OperationKind::send;
  facts.sequence =
      count_transfer(*writer_, peer, is_send ? Transfer::send_started : Transfer::receive_started);
  return handle_of(start_operation(*writer_, context.communicator, facts));
}

EventHandle Profiler::start_transfers(Context& context, const ProxyOp& proxy) {
  // Of another process, for which this one drives the network.
  if (static_cast<std::uint32_t>(proxy.pid) != writer_->pid) return nothing;
  const PeerHandle peer = find_peer(*writer_, context.communicator, proxy.peer);
  return peer == 0 ? nothing : handle_of_transfers(peer);
}

EventHandle Profiler::start_kernel(EventHandle parent, std::uint32_t channel,
                                   std::uint64_t gpu_ns) {
  if (kind_of(parent) != HandleKind::operation) return nothing;
  const OperationHandle operation = operation_of(parent);
  if (detail::channels_of(operation) == 0) return nothing;
  start_channel(*writer_, operation, channel, gpu_ns);
  if (channel >= ringfmt::channels_max) return nothing;
  return handle_of_channel(operation, channel);
}

template <int version>
EventHandle Profiler::start(Context& context, const Descriptor& event) {
  if (writer_ == nullptr) return nothing;
  const EventHandle parent = chained_.ours(from_pointer(event.parent));
  switch (type_of<version>(event)) {
    case event_copy_collective:
      if (version < 6) return nothing;
      [[fallthrough]];
    case event_collective:
    case event_p2p: return start_operation_of<version>(context, event);
    case event_kernel_channel:
      return start_kernel(parent, event.kernel_channel.channel,
                          version >= version_with_identity ? event.kernel_channel.gpu_ns : 0);
    case event_proxy_op: return start_transfers(context, event.proxy_op);
    case event_proxy_step:
      return kind_of(parent) == HandleKind::transfers ? steps_.start(peer_of(parent)) : nothing;
    default: return nothing;
  }
}

void Profiler::count_finished_transfer(OperationHandle operation) {
  ringfmt::Ring* ring = detail::ring_of(*writer_);
  if (ring == nullptr) return;
  const std::uint32_t place = detail::place_of(operation);
  const ringfmt::OperationStart& of = ring->operations[place][detail::slot_of(operation)].start;
  const ringfmt::OperationKind kind = static_cast<ringfmt::OperationKind>(load(of.kind));
  const bool is_send = kind == ringfmt::OperationKind::send;
  if (!is_send && kind != ringfmt::OperationKind::receive) return;
  const CommunicatorHandle communicator = load(of.communicator_generation) << 8U | place;
  count_transfer(*writer_, find_peer(*writer_, communicator, load(of.peer)),
                 is_send ? Transfer::send_finished : Transfer::receive_finished);
}

void Profiler::stop_launch(OperationHandle operation) {
  if (detail::channels_of(operation) != 0) return enqueue_operation(*writer_, operation);
  finish_operation(*writer_, operation, ringfmt::Outcome::launched);
  count_finished_transfer(operation);
}

void Profiler::stop_kernel(EventHandle handle, std::uint64_t gpu_ns) {
  const OperationHandle operation = operation_of(handle);
  const bool is_over = stop_channel(*writer_, operation, channel_of(handle), gpu_ns);
  if (is_over && detail::channels_of(operation) == ringfmt::channels_unknown)
    count_finished_transfer(operation);
}

void Profiler::stop(EventHandle handle) {
  if (writer_ == nullptr) return;
  switch (kind_of(handle)) {
    case HandleKind::operation: return stop_launch(operation_of(handle));
    case HandleKind::channel:
      // Mostly its state has said so before, and when by the GPU's clock.
      if (channel_is_open(*writer_, operation_of(handle), channel_of(handle)))
        stop_kernel(handle, 0);
      return;
    case HandleKind::step: return steps_.stop(*writer_, handle);
    default: return;
  }
}

void Profiler::record(EventHandle handle, int state, std::uint64_t gpu_ns) {
  if (writer_ == nullptr) return;
  if (kind_of(handle) == HandleKind::channel && state == state_kernel_channel_stop)
    return stop_kernel(handle, gpu_ns);
  if (kind_of(handle) == HandleKind::step) steps_.record(*writer_, handle, state);
}

// --- what NCCL looks for
// -----------------------------------------------------------------------------------

const char plugin_name[] = "faultline";

namespace {

static_assert(std::is_trivially_default_constructible_v<Profiler>, "zero from the start");
Profiler profiler;

template <int version>
int start_event(void* context, void** handle, Descriptor* event) {
  auto* known = static_cast<Context*>(context);
  EventHandle ours = profiler.start<version>(*known, *event);
  if (known->is_chained != 0) ours = profiler.chained().start(known->chained, *event, ours);
  *handle = to_pointer(ours);
  return result_success;
}

int stop_event(void* handle) {
  const EventHandle known = from_pointer(handle);
  if (profiler.chained().is_open()) profiler.chained().stop(known);
  profiler.stop(profiler.chained().ours(known));
  return result_success;
}

template <int version>
int record_event_state(void* handle, int state, StateArguments* arguments) {
  const EventHandle known = from_pointer(handle);
  if (profiler.chained().is_open()) profiler.chained().record(known, state, arguments);
  const bool has_time = version >= version_with_identity && arguments != nullptr;
  profiler.record(profiler.chained().ours(known), state, has_time ? arguments->gpu_ns : 0);
  return result_success;
}

int finalize(void* context) { return profiler.finalize(*static_cast<Context*>(context)); }

template <int version>
int init_early(void** context, int* mask) {
  return profiler.init(version, context, mask, CommunicatorFacts{}, nullptr);
}

CommunicatorFacts facts_of(std::uint64_t id, const char* name, int nodes, int ranks, int rank) {
  CommunicatorFacts facts;
  facts.id = id;
  facts.name = name;
  facts.node_count = nodes;
  facts.rank_count = ranks;
  facts.rank = rank;
  return facts;
}

int init_4(void** context, int* mask, const char* name, uint64_t id, int nodes, int ranks, int rank,
           Logger log) {
  return profiler.init(4, context, mask, facts_of(id, name, nodes, ranks, rank), log);
}

template <int version>
int init_late(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks,
              int rank, Logger log) {
  return profiler.init(version, context, mask, facts_of(id, name, nodes, ranks, rank), log);
}

template <int version, class Init>
constexpr Plugin<Init> plugin_of(Init init) {
  return {plugin_name, init, &start_event<version>, &stop_event, &record_event_state<version>,
          &finalize};
}

}  // namespace

extern "C" {
FAULTLINE_API constinit Plugin<InitV1> ncclProfiler_v1 = plugin_of<1>(InitV1{init_early<1>});
FAULTLINE_API constinit Plugin<InitV1> ncclProfiler_v2 = plugin_of<2>(InitV1{init_early<2>});
FAULTLINE_API constinit Plugin<InitV1> ncclProfiler_v3 = plugin_of<3>(InitV1{init_early<3>});
FAULTLINE_API constinit Plugin<InitV4> ncclProfiler_v4 = plugin_of<4>(InitV4{init_4});
FAULTLINE_API constinit Plugin<InitV5> ncclProfiler_v5 = plugin_of<5>(InitV5{init_late<5>});
FAULTLINE_API constinit Plugin<InitV5> ncclProfiler_v6 = plugin_of<6>(InitV5{init_late<6>});
FAULTLINE_API constinit Plugin<InitV5> ncclProfiler_v7 = plugin_of<7>(InitV5{init_late<7>});
}

}  // namespace faultline::trace::nccl
