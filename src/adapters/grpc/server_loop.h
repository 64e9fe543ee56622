// The inside of the server: the loop that runs gRPC on one thread, and what lives on it. Included
// by the .cc files of the server alone.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/grpc/grpc_log.h"
#include "adapters/grpc/peer.h"
#include "adapters/grpc/server.h"
#include "adapters/grpc/status_codes.h"
#include "adapters/grpc/worker_pool.h"
#include "agent/ports.h"
#include "wire/faultline.grpc.pb.h"

namespace faultline::grpc_server {

/// What the completion queue hands back: how to go on with the operation that is done.
struct Step {
  std::function<void(bool ok)> run;
};

inline grpc::Status refusal(grpc::StatusCode code, const std::string& message) {
  return {code, message};
}
inline grpc::Status refusal(const Error& error) { return {to_grpc(error.code), error.message}; }
inline grpc::Status controller_stops() {
  return refusal(grpc::StatusCode::UNAVAILABLE, "the controller is stopping");
}

/// Whom the handshake proved, refused unless of the role `wanted`. Without TLS nobody is proved:
/// the name is empty, and only loopback can have called.
Result<Peer> peer_of(const grpc::ServerContext& context, bool tls, PeerRole wanted);

class ServerLoop;

/// One agent's stream. Lives on the loop's thread; only a job on a worker is elsewhere, and while
/// it runs nothing else of the stream does, because the next message is read only when it is done.
class AgentStream {
 public:
  AgentStream(ServerLoop& loop, std::uint64_t id) : loop_(loop), id_(id) {}

  void arm();
  void finish(const grpc::Status& status);
  void give_rulings(std::uint64_t cursor, const std::vector<RulingReport>& reports);
  void tick(Duration now);
  [[nodiscard]] const AgentIdentity& identity() const { return identity_; }
  /// Now, unless we listen: what the agent says meanwhile waits for us.
  [[nodiscard]] Duration heard_at() const;
  [[nodiscard]] bool open() const { return opened_at_.has_value(); }
  /// Its node, or "" until Hello and after the end.
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  [[nodiscard]] bool reads_what_we_say() const { return answers_.empty(); }

 private:
  Step step(void (AgentStream::*then)(bool));
  void called(bool ok);
  void read();
  void read_done(bool ok);
  void hello();
  void batch();
  void heartbeat();
  bool work(std::function<void()> job, WorkerPool::Line line);
  void work_done(bool ok);
  void answer(v1::ControllerMessage message);
  void write_next();
  void write_done(bool ok);
  void close();
  void closed(bool ok);

  ServerLoop& loop_;
  const std::uint64_t id_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<v1::ControllerMessage, v1::AgentMessage> io_{&context_};
  v1::AgentMessage in_;
  v1::ControllerMessage out_;
  std::deque<v1::ControllerMessage> answers_;
  std::optional<v1::ControllerMessage> work_answer_;
  Peer peer_;
  std::string node_;
  AgentIdentity identity_;
  Duration listening_since_{0};
  std::optional<Duration> opened_at_;  // empty while it waits for a call
  std::uint64_t cursor_ = 0;
  int pending_ = 0;  // operations that have not come back; at 0 the stream is over
  bool writing_ = false;
  bool listening_ = false;
  bool reading_paused_ = false;
  bool finishing_ = false;
  grpc::Status status_;
  Step on_call_ = step(&AgentStream::called);
  Step on_read_ = step(&AgentStream::read_done);
  Step on_work_ = step(&AgentStream::work_done);
  Step on_write_ = step(&AgentStream::write_done);
  Step on_close_ = step(&AgentStream::closed);
};

/// One request of a person.
class OperatorCall {
 public:
  OperatorCall(ServerLoop& loop, std::uint64_t id) : loop_(loop), id_(id) {}
  void arm();

 private:
  Step step(void (OperatorCall::*then)(bool));
  void called(bool ok);
  Status ask();
  void work_done(bool ok);
  void finish(const Result<PersonAnswer>& result);
  void finished(bool) {}

  ServerLoop& loop_;
  const std::uint64_t id_;
  grpc::ServerContext context_;
  v1::OperatorRequest request_;
  v1::OperatorReply reply_;
  grpc::ServerAsyncResponseWriter<v1::OperatorReply> responder_{&context_};
  std::optional<Result<PersonAnswer>> answer_;
  int pending_ = 0;
  Step on_call_ = step(&OperatorCall::called);
  Step on_work_ = step(&OperatorCall::work_done);
  Step on_finish_ = step(&OperatorCall::finished);
};

/// The thread that runs gRPC, and what all streams share.
class ServerLoop {
 public:
  ServerLoop(GrpcServerOptions given, AgentIngress& agent_ingress,
             OperatorIngress& operator_ingress, const Clock& the_clock, Counters& the_counters)
      : options(std::move(given)),
        agents(agent_ingress),
        operators(operator_ingress),
        clock(the_clock),
        counters(the_counters),
        workers(options.workers, options.waiting_max) {}
  ~ServerLoop() { stop(); }
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  Status listen();
  void stop();
  [[nodiscard]] std::string address() const { return address_; }

  void arm_stream();
  void arm_call();
  /// Destroys it once the step that is running has returned.
  void release_stream(std::uint64_t id);
  void release_call(std::uint64_t id);
  /// The refusal of an agent in whose node's name another one speaks. Who was silent for long
  /// enough is ended.
  std::optional<grpc::Status> refuse_rival(const std::string& node, const AgentIdentity& who);
  /// Of several streams of a node the newest stay: an agent that restarted must not be shut out by
  /// its own ghost.
  void greeted(const std::string& node, std::uint64_t id);
  void forget(const std::string& node, std::uint64_t id);
  [[nodiscard]] bool full() const {
    return streams_.size() > options.streams_max + 1;
  }  // one waits for a call
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// False if it was not said, since another warning was just before.
  bool warn(const std::string& text);
  /// Lets `step` run on the loop's thread. Called on a worker; nothing that the step may destroy is
  /// touched afterwards.
  void wake(Step& step);
  v1::ControllerMessage take(const v1::Batch& batch, const std::string& node);

  const GrpcServerOptions options;
  AgentIngress& agents;
  OperatorIngress& operators;
  const Clock& clock;
  Counters& counters;
  v1::Controller::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  WorkerPool workers;

 private:
  struct RulingPoll {
    struct Entry {
      std::uint64_t id;
      std::string node;
      std::uint64_t cursor;
      std::vector<RulingReport> reports;
    };
    std::vector<Entry> entries;
    bool running = false;
  };

  /// The agent that speaks for a node, or did until a moment ago.
  struct Speaker {
    std::deque<std::uint64_t> streams;  // of agents of an older program as well
    AgentIdentity who;                  // of one that tells it; the last one
    Duration heard_at{0};               // in the streams that ended
    std::deque<std::string> rivals_said;
  };

  Result<std::shared_ptr<grpc::ServerCredentials>> credentials() const;
  Error cannot_listen() const;
  std::vector<AgentStream*> streams_of(const Speaker& speaker);
  grpc::Status refuse(const std::string& node, Speaker& speaker, const AgentIdentity& who);
  void drop_speakers();
  /// What gRPC complains of, on any of its threads.
  void hear(const std::string& text);
  bool say(const std::string& text, std::optional<Duration>& last, Duration interval);
  /// After a listen that failed.
  void drain();
  void run();
  void tick();
  void poll_rulings();
  void deliver_rulings();

  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::thread thread_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> server_down_ = false;
  bool told_to_stop_ = false;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::unique_ptr<AgentStream>> streams_;
  std::map<std::uint64_t, std::unique_ptr<OperatorCall>> calls_;
  std::vector<std::unique_ptr<AgentStream>> ended_streams_;
  std::vector<std::unique_ptr<OperatorCall>> ended_calls_;
  std::map<std::string, Speaker, std::less<>> speakers_;  // by node
  RulingPoll poll_;
  Step on_poll_{[this](bool) { deliver_rulings(); }};
  Duration last_tick_{0};
  std::mutex warn_mutex_;
  std::optional<Duration> last_warning_;
  std::optional<Duration> last_complaint_;
  std::string last_refusal_;  // what gRPC said before it listened
  std::atomic<bool> listening_ = false;
  GrpcLog grpc_log_{[this](const std::string& text) { hear(text); }};  // the first to go
};

}  // namespace faultline::grpc_server
