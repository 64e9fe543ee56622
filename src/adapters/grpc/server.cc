#include "adapters/grpc/server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "adapters/grpc/server_loop.h"
#include "base/text.h"
#include "wire/intake.h"

namespace faultline {
namespace grpc_server {
namespace {

constexpr std::size_t transport_memory_bytes_max = std::size_t{512} << 20;
constexpr Duration stop_grace = std::chrono::seconds{2};
constexpr Duration warn_interval = std::chrono::seconds{1};
// Whoever scans ports, or tries with a wrong certificate again and again, must not fill the log.
constexpr Duration complaint_interval = std::chrono::seconds{10};

gpr_timespec from_now(Duration duration) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(duration.count(), GPR_TIMESPAN));
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> ServerLoop::credentials() const {
  if (!options.tls) {
    if (is_loopback(options.listen)) return grpc::InsecureServerCredentials();
    return Error{ErrorCode::invalid_argument,
                 "listening on " + options.listen +
                     " without certificates is refused: others could reach it. Give the "
                     "certificates (`faultline pki`) or listen on 127.0.0.1"};
  }
  const auto text = load_tls(*options.tls, clock.now());
  if (!text) return text.error();
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = text->authority;
  ssl.pem_key_cert_pairs.push_back({text->key, text->certificate});
  return grpc::SslServerCredentials(ssl);
}

Status ServerLoop::listen() {
  const auto secured = credentials();
  if (!secured) return secured.error();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.listen, *secured, &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(message_bytes_max);
  builder.SetMaxSendMessageSize(message_bytes_max);
  builder.SetResourceQuota(grpc::ResourceQuota("controller").Resize(transport_memory_bytes_max));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                             0);  // a second controller must fail, not take half the agents
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 8);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  // A node that lost power says no goodbye.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 15'000);
  queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_ || port == 0) return cannot_listen();
  listening_ = true;
  address_ = options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(port);
  thread_ = std::thread([this] { run(); });
  return ok_status();
}

Error ServerLoop::cannot_listen() const {
  const std::string reason = system_reason(last_refusal_);
  return {ErrorCode::unavailable, "cannot listen on " + options.listen + ": " +
                                      (reason.empty() ? "is the port taken?" : reason)};
}

void ServerLoop::stop() {
  if (!thread_.joinable()) return drain();
  stopping_ = true;
  workers.stop();
  server_->Shutdown(from_now(stop_grace));
  server_down_ = true;
  thread_.join();
}

void ServerLoop::drain() {
  if (server_) server_->Shutdown();
  if (!queue) return;
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) continue;
}

void ServerLoop::run() {
  arm_stream();
  arm_call();
  bool shut_down = false;
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    const auto next = queue->AsyncNext(&tag, &ok, from_now(options.ruling_poll));
    if (next == grpc::CompletionQueue::SHUTDOWN) return;
    if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<Step*>(tag)->run(ok);
    ended_streams_.clear();
    ended_calls_.clear();
    if (clock.monotonic() - last_tick_ >= options.ruling_poll) tick();
    // Only now can no step start another operation, which the queue would not take any more.
    if (server_down_ && streams_.empty() && calls_.empty() && !poll_.running && !shut_down) {
      shut_down = true;
      queue->Shutdown();
    }
  }
}

void ServerLoop::tick() {
  last_tick_ = clock.monotonic();
  if (stopping_) {
    if (std::exchange(told_to_stop_, true)) return;
    for (const auto& [id, stream] : streams_) {
      if (stream->open()) stream->finish(controller_stops());
    }
    return;
  }
  for (const auto& [id, stream] : streams_) stream->tick(last_tick_);
  drop_speakers();
  poll_rulings();
}

void ServerLoop::poll_rulings() {
  if (poll_.running) return;
  poll_.entries.clear();
  for (const auto& [id, stream] : streams_) {
    if (!stream->node().empty() && stream->reads_what_we_say()) {
      poll_.entries.push_back({id, stream->node(), stream->cursor(), {}});
    }
  }
  if (poll_.entries.empty()) return;
  poll_.running = workers.submit(
      [this] {
        for (auto& entry : poll_.entries)
          entry.reports = agents.rulings_for(entry.node, entry.cursor);
        wake(on_poll_);
      },
      WorkerPool::Line::always);
}

void ServerLoop::deliver_rulings() {
  poll_.running = false;
  for (const auto& entry : poll_.entries) {
    const auto it = streams_.find(entry.id);
    if (it != streams_.end()) it->second->give_rulings(entry.cursor, entry.reports);
  }
}

void ServerLoop::arm_stream() {
  if (stopping_) return;
  const auto id = next_id_++;
  streams_.emplace(id, std::make_unique<AgentStream>(*this, id)).first->second->arm();
}

void ServerLoop::arm_call() {
  if (stopping_) return;
  const auto id = next_id_++;
  calls_.emplace(id, std::make_unique<OperatorCall>(*this, id)).first->second->arm();
}

void ServerLoop::release_stream(std::uint64_t id) {
  auto node = streams_.extract(id);
  if (node) ended_streams_.push_back(std::move(node.mapped()));
}

void ServerLoop::release_call(std::uint64_t id) {
  auto node = calls_.extract(id);
  if (node) ended_calls_.push_back(std::move(node.mapped()));
}

bool ServerLoop::warn(const std::string& text) { return say(text, last_warning_, warn_interval); }

void ServerLoop::hear(const std::string& text) {
  if (!listening_) {  // it ends in one error of ours
    if (last_refusal_.empty()) last_refusal_ = text;
    return;
  }
  const std::string failed = failed_handshake(text);
  counters.add(failed.empty() ? "grpc_complaints_total" : "grpc_tls_refused_total");
  const std::string shown =
      failed.empty() ? "gRPC: " + text
                     : "refused a TLS handshake: " + failed +
                           " (gRPC does not tell from where: the agent's own log says more)";
  say(shown, last_complaint_, complaint_interval);
}

bool ServerLoop::say(const std::string& text, std::optional<Duration>& last, Duration interval) {
  if (!options.warn) return false;
  const std::lock_guard lock(warn_mutex_);
  const Duration now = clock.monotonic();
  if (last && now - *last < interval) return false;
  last = now;
  options.warn(text);
  return true;
}

void ServerLoop::wake(Step& step) {
  // Due long ago: it rings before the constructor returns. One that is still to ring must not be
  // destroyed, since gRPC 1.51 takes its own reference only then, and a thread of its timers may be
  // on the way to it.
  grpc::Alarm alarm(queue.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), &step);
}

v1::ControllerMessage ServerLoop::take(const v1::Batch& batch, const std::string& node) {
  v1::ControllerMessage message;
  auto& ack = *message.mutable_ack();
  ack.set_seq(batch.seq());
  Intake intake = take_batch(batch, node, counters);
  ack.set_refused(intake.refused);
  ack.set_reason(intake.reason);
  if (intake.refused > 0) {
    warn(node + ": " + std::to_string(intake.refused) + " events refused, the first because " +
         intake.reason);
  }
  const Status taken =
      intake.events.empty() ? ok_status() : agents.take_events(node, std::move(intake.events));
  ack.set_stored(taken.ok());
  if (taken) return message;
  counters.add("grpc_batches_not_stored_total");
  ack.set_reason(taken.error().message);
  ack.set_overloaded(taken.error().code == ErrorCode::exhausted);
  return message;
}

}  // namespace grpc_server

class GrpcServer::Impl {
 public:
  grpc_server::ServerLoop loop;
};

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(GrpcServerOptions options,
                                                      AgentIngress& agents,
                                                      OperatorIngress& operators,
                                                      const Clock& clock, Counters& counters) {
  std::unique_ptr<Impl> impl(new Impl{{std::move(options), agents, operators, clock, counters}});
  FAULTLINE_TRY(impl->loop.listen());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

std::string GrpcServer::address() const { return impl_->loop.address(); }
void GrpcServer::stop() { impl_->loop.stop(); }

}  // namespace faultline
