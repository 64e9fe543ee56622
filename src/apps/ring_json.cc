// A black box as JSON; docs/formats.md lists the keys.
#include <nlohmann/json.hpp>

#include "apps/ring_command.h"

namespace faultline {
namespace {

using nlohmann::json;

json at(const RingTime& time) { return time.is_known ? json(to_text(time.wall)) : json(nullptr); }
json number(std::int64_t value) { return value < 0 ? json(nullptr) : json(value); }
json seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

json since(const RingView& view, const RingTime& time) {
  if (!time.is_known || !view.until.is_known) return nullptr;
  return seconds(std::max(Duration{0}, view.until.monotonic - time.monotonic));
}

json operation_json(const RingView& view, const RingOperation& from) {
  const bool over = from.phase == OperationPhase::over;
  return {{"operation", from.kind},
          {"sequence", from.sequence},
          {"peer", number(from.peer)},
          {"count", from.count},
          {"data_type", from.data_type},
          {"algorithm", from.algorithm},
          {"protocol", from.protocol},
          {"user_tag", from.user_tag},
          {"phase", to_text(from.phase)},
          {"outcome", over ? json(from.outcome) : json(nullptr)},
          {"channels", from.channels},
          {"channels_started", from.channels_started},
          {"channels_stopped", from.channels_stopped},
          {"captured", from.captured},
          {"blocking", from.blocking},
          {"torn", from.torn},
          {"started", at(from.started)},
          {"enqueued", at(from.enqueued)},
          {"first_channel", at(from.first_channel)},
          {"ended", over ? at(from.ended) : json(nullptr)},
          {"in_flight_s", over ? json(nullptr) : since(view, from.started)},
          {"gpu_first_start_ns", from.gpu_first_start_ns},
          {"gpu_last_stop_ns", from.gpu_last_stop_ns}};
}

json operations_json(const RingView& view, const std::vector<RingOperation>& operations) {
  json list = json::array();
  for (const RingOperation& operation : operations) list.push_back(operation_json(view, operation));
  return list;
}

json communicator_json(const RingView& view, const RingCommunicator& from) {
  return {{"place", from.place},
          {"id", from.id},
          {"name", from.name},
          {"rank", number(from.rank)},
          {"rank_count", number(from.rank_count)},
          {"node_count", number(from.node_count)},
          {"device", number(from.device)},
          {"open", from.is_open},
          {"torn", from.torn},
          {"opened", at(from.opened)},
          {"closed", at(from.closed)},
          {"last_started", at(from.last_started)},
          {"last_completed", at(from.last_finished)},
          {"started_total", from.started},
          {"completed_total", from.finished},
          {"dropped_total", from.dropped},
          {"in_flight", operations_json(view, from.in_flight)},
          {"completed", operations_json(view, from.completed)}};
}

json peer_json(const RingView& view, const RingPeer& from) {
  json waits = json::object();
  for (std::uint32_t kind = 0; kind < ringfmt::wait_kinds; ++kind) {
    const RingWait& wait = from.waits[kind];
    if (wait.open == 0 && wait.ended == 0) continue;
    waits[ringfmt::wait_words[kind]] = {
        {"open", wait.open},
        {"open_s", wait.open == 0 ? json(nullptr) : since(view, wait.open_since)},
        {"ended", wait.ended},
        {"total_s", seconds(wait.total)}};
  }
  return {{"communicator", from.communicator},
          {"rank", number(from.rank)},
          {"torn", from.torn},
          {"sends_started", from.sends_started},
          {"sends_finished", from.sends_finished},
          {"receives_started", from.receives_started},
          {"receives_finished", from.receives_finished},
          {"last_end", at(from.last_end)},
          {"waits", std::move(waits)}};
}

json identity_json(const RingIdentity& me) {
  return {{"host", me.host},
          {"job", me.job},
          {"boot_id", me.boot_id},
          {"pid", me.pid},
          {"uid", me.uid},
          {"process_start", me.process_start},
          {"pid_namespace", me.pid_namespace},
          {"rank", number(me.rank)},
          {"local_rank", number(me.local_rank)},
          {"rank_count", number(me.rank_count)},
          {"restart", number(me.restart)},
          {"gpu_address", me.gpu_address},
          {"gpu_uuid", me.gpu_uuid},
          {"library", me.library},
          {"created", known(me.created) ? json(to_text(me.created)) : json(nullptr)}};
}

}  // namespace

json ring_json(const RingView& view) {
  const RingSnapshot& ring = view.ring;
  json communicators = json::array();
  for (const auto& one : ring.communicators) communicators.push_back(communicator_json(view, one));
  json peers = json::array();
  for (const auto& one : ring.peers) peers.push_back(peer_json(view, one));
  return {{"file", view.path},
          {"process", to_text(view.life)},
          {"identity", identity_json(ring.identity)},
          {"state", ring.state},
          {"disabled_reason", ring.disabled_reason},
          {"ticks", ring.ticks},
          {"last_sign", at(ring.last_sign)},
          {"communicators", std::move(communicators)},
          {"peers", std::move(peers)},
          {"drops", ring.drops},
          {"problems", ring.problems}};
}

}  // namespace faultline
