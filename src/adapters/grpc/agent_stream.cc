#include "adapters/grpc/server_loop.h"
#include "base/text.h"
#include "base/version.h"
#include "model/names.h"
#include "wire/convert.h"

namespace faultline::grpc_server {
namespace {

constexpr std::size_t answers_waiting_max = 256;  // of a stream whose agent does not read

}  // namespace

Step AgentStream::step(void (AgentStream::*then)(bool)) {
  return {[this, then](bool ok) {
    --pending_;
    (this->*then)(ok);
    if (pending_ == 0) loop_.release_stream(id_);
  }};
}

void AgentStream::arm() {
  ++pending_;
  loop_.service.RequestReport(&context_, &io_, loop_.queue.get(), loop_.queue.get(), &on_call_);
}

void AgentStream::called(bool ok) {
  if (!ok) return;  // the server stops
  loop_.arm_stream();
  opened_at_ = loop_.clock.monotonic();
  if (loop_.stopping()) return finish(controller_stops());
  if (loop_.full())
    return finish(
        refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller has too many streams"));
  auto peer = peer_of(context_, loop_.options.tls.has_value(), PeerRole::agent);
  if (!peer) {
    loop_.counters.add("grpc_peers_refused_total");
    loop_.warn("refused " + context_.peer() + ": " + peer.error().message);
    return finish(refusal(peer.error()));
  }
  peer_ = std::move(peer).value();
  read();
}

void AgentStream::read() {
  // An agent that does not read its answers is not listened to until it does: the line stays short.
  reading_paused_ = answers_.size() >= answers_waiting_max;
  if (reading_paused_) return loop_.counters.add("grpc_streams_not_read_total");
  listening_ = true;
  listening_since_ = loop_.clock.monotonic();
  ++pending_;
  in_.Clear();
  io_.Read(&in_, &on_read_);
}

Duration AgentStream::heard_at() const {
  return listening_ ? listening_since_ : loop_.clock.monotonic();
}

void AgentStream::read_done(bool ok) {
  if (finishing_) return;
  if (!ok) return finish(grpc::Status::OK);
  listening_ = false;
  const auto body = in_.body_case();
  if (node_.empty() != (body == v1::AgentMessage::kHello)) {
    return finish(refusal(grpc::StatusCode::INVALID_ARGUMENT,
                          "a stream starts with Hello and has one alone"));
  }
  switch (body) {
    case v1::AgentMessage::kHello: return hello();
    case v1::AgentMessage::kBatch: return batch();
    case v1::AgentMessage::kHeartbeat: return heartbeat();
    case v1::AgentMessage::BODY_NOT_SET: break;
  }
  loop_.counters.add("grpc_messages_unknown_total");  // of a newer agent
  read();
}

void AgentStream::hello() {
  const auto& said = in_.hello();
  if (said.protocol() != protocol_version) {
    return finish(refusal(grpc::StatusCode::FAILED_PRECONDITION,
                          "the agent speaks protocol " + std::to_string(said.protocol()) +
                              ", the controller speaks " + std::to_string(protocol_version) +
                              ": bring both to the same version"));
  }
  if (!valid_node_name(said.node())) {
    return finish(refusal(grpc::StatusCode::INVALID_ARGUMENT,
                          "bad node name '" + printable(said.node(), 80) + "'"));
  }
  if (loop_.options.tls && said.node() != peer_.name) {
    loop_.counters.add("grpc_wrong_speaker_total");
    const std::string why = "the certificate is of '" + peer_.name + "' and cannot speak for '" +
                            said.node() + "': issue one with `faultline pki issue --name " +
                            said.node() + "`";
    loop_.warn("refused " + context_.peer() + ": " + why);
    return finish(refusal(grpc::StatusCode::PERMISSION_DENIED, why));
  }
  identity_ = {said.host(), said.boot_id(), said.state()};
  if (const auto refused = loop_.refuse_rival(said.node(), identity_)) return finish(*refused);
  node_ = said.node();
  loop_.greeted(node_, id_);
  v1::ControllerMessage welcome;
  welcome.mutable_welcome()->set_protocol(protocol_version);
  welcome.mutable_welcome()->set_program_version(std::string(kVersion));
  answer(std::move(welcome));
  read();
}

void AgentStream::batch() {
  const auto batch = std::make_shared<v1::Batch>();
  batch->Swap(in_.mutable_batch());
  const auto job = [this, batch, node = node_] { work_answer_ = loop_.take(*batch, node); };
  if (work(job, WorkerPool::Line::bounded)) return;
  loop_.counters.add("grpc_batches_turned_away_total");
  v1::ControllerMessage message;
  message.mutable_ack()->set_seq(batch->seq());
  message.mutable_ack()->set_overloaded(true);
  message.mutable_ack()->set_reason("the controller has too many batches waiting");
  answer(std::move(message));
  read();
}

void AgentStream::heartbeat() {
  const std::int64_t said = in_.heartbeat().agent_now_ns();
  const Instant agent_now = said > 0 ? Instant{Duration{said}} : Instant{};
  CounterValues counters;
  for (const auto& counter : in_.heartbeat().counters()) counters[counter.name()] = counter.value();
  const auto job = [this, agent_now, counters = std::move(counters), node = node_] {
    loop_.agents.heartbeat(node, agent_now);
    if (!counters.empty()) loop_.agents.take_counters(node, counters);
  };
  // Never turned away: a busy controller must not mistake its own backlog for a dead node.
  if (!work(job, WorkerPool::Line::always)) read();
}

bool AgentStream::work(std::function<void()> job, WorkerPool::Line line) {
  ++pending_;
  const bool taken = loop_.workers.submit(
      [this, job = std::move(job)] {
        job();
        loop_.wake(on_work_);
      },
      line);
  if (!taken) --pending_;
  return taken;
}

void AgentStream::work_done(bool) {
  if (finishing_) return;
  read();  // before the answer: who has it counts as heard until then, and no longer
  if (work_answer_) answer(std::move(*work_answer_));
  work_answer_.reset();
}

void AgentStream::give_rulings(std::uint64_t cursor, const std::vector<RulingReport>& reports) {
  cursor_ = cursor;
  for (const auto& report : reports) {
    v1::ControllerMessage message;
    auto& ruling = *message.mutable_ruling();
    ruling.mutable_attempt()->set_job(report.attempt.job);
    ruling.mutable_attempt()->set_restart(report.attempt.restart);
    ruling.set_final(report.final);
    ruling.set_text(report.text);
    answer(std::move(message));
  }
}

void AgentStream::tick(Duration now) {
  if (!opened_at_ || !node_.empty() || finishing_) return;
  if (now - *opened_at_ < loop_.options.hello_deadline) return;
  finish(refusal(grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello in time"));
}

void AgentStream::answer(v1::ControllerMessage message) {
  if (finishing_) return;
  answers_.push_back(std::move(message));
  write_next();
}

void AgentStream::write_next() {
  if (writing_ || answers_.empty()) return;
  writing_ = true;
  ++pending_;
  out_ = std::move(answers_.front());
  answers_.pop_front();
  io_.Write(out_, &on_write_);
}

void AgentStream::write_done(bool ok) {
  writing_ = false;
  if (finishing_) return close();
  if (!ok) return finish(refusal(grpc::StatusCode::UNAVAILABLE, "the stream is broken"));
  write_next();
  if (reading_paused_ && answers_.size() < answers_waiting_max) read();
}

void AgentStream::finish(const grpc::Status& status) {
  if (finishing_) return;
  finishing_ = true;
  status_ = status;
  answers_.clear();
  loop_.forget(node_, id_);
  node_.clear();
  // A write that the other side does not take would hold up the end for ever.
  if (writing_) return context_.TryCancel();
  close();
}

void AgentStream::close() {
  ++pending_;
  io_.Finish(status_, &on_close_);
}

void AgentStream::closed(bool) {
  if (pending_ > 0) context_.TryCancel();  // so that a read that still waits comes back
}

}  // namespace faultline::grpc_server
