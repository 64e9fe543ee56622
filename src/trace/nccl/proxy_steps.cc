#include "trace/nccl/proxy_steps.h"

#include "trace/nccl/profiler_abi.h"

namespace faultline::trace::nccl {

namespace {

using ringfmt::WaitKind;

/// `count` for what is no wait.
WaitKind wait_of(int state) {
  switch (state) {
    case state_send_gpu_wait: return WaitKind::send_gpu;
    case state_send_peer_wait: return WaitKind::send_credit;
    case state_send_wait: return WaitKind::send_network;
    case state_receive_wait: return WaitKind::receive_network;
    case state_receive_flush_wait: return WaitKind::receive_flush;
    case state_receive_gpu_wait: return WaitKind::receive_gpu;
    default: return WaitKind::count;
  }
}

}  // namespace

EventHandle ProxySteps::start(PeerHandle peer) {
  const std::uint64_t number = steps_.add([peer](Step& step) {
    store(step.peer, peer);
    store(step.token, std::uint64_t{0});
  });
  return numbered_handle(HandleKind::step, number);
}

void ProxySteps::end_wait_of(Writer& writer, Step& step) {
  const std::uint64_t token = load(step.token);
  if (token == 0) return;
  end_wait(writer, load(step.peer), static_cast<WaitKind>(load(step.waits_for)), token);
  store(step.token, std::uint64_t{0});
}

void ProxySteps::record(Writer& writer, EventHandle handle, int state) {
  Step* step = steps_.find(number_of(handle));
  const WaitKind kind = wait_of(state);
  if (step == nullptr || kind == WaitKind::count) return;
  if (load(step->token) != 0 && load(step->waits_for) == static_cast<std::uint32_t>(kind)) return;
  end_wait_of(writer, *step);
  store(step->waits_for, kind);
  store(step->token, begin_wait(writer, load(step->peer), kind));
}

void ProxySteps::stop(Writer& writer, EventHandle handle) {
  if (Step* step = steps_.find(number_of(handle))) end_wait_of(writer, *step);
}

}  // namespace faultline::trace::nccl
