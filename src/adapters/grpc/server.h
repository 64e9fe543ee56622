// The controller's side of the transport: streams from agents, and single calls from people. One
// thread runs all of gRPC; what may block (the controller's own work) runs on a few workers, and a
// full line in front of them makes agents keep what they have.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/grpc/tls_files.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/result.h"
#include "controller/ports.h"

namespace faultline {

inline constexpr int message_bytes_max = 1 << 20;
inline constexpr std::size_t streams_per_node_max =
    2;  // the old one may linger while a node reconnects

struct GrpcServerOptions {
  std::string listen = "127.0.0.1:9176";  // HOST:PORT; port 0 takes a free one
  std::optional<TlsFiles> tls;            // absent: plain text, on loopback only
  std::size_t workers = 2;
  std::size_t waiting_max = 256;  // batches in line for the workers
  std::size_t streams_max = 16384;
  Duration ruling_poll = std::chrono::milliseconds{100};
  Duration hello_deadline = std::chrono::seconds{10};
  /// A stream on which nothing came for so long, of one heartbeat a second, does not keep out the
  /// agent of a later boot of the same host: it is the ghost of a node that lost its power.
  Duration agent_silence_max = std::chrono::seconds{10};
  /// Any other agent gets a node's name only so long after the last word of the one that had it:
  /// who drops its stream, because we were too slow to answer, is back by then.
  Duration name_kept = std::chrono::minutes{1};
  /// What an operator of the controller should see: who was refused, and why. Called from any
  /// thread, at most once a second.
  std::function<void(const std::string&)> warn = {};
};

class GrpcServer {
 public:
  /// Listens at once. invalid_argument: plain text on an address that others reach; unavailable:
  /// the port is taken. The ports and the clock must outlive the server.
  static Result<std::unique_ptr<GrpcServer>> start(GrpcServerOptions options, AgentIngress& agents,
                                                   OperatorIngress& operators, const Clock& clock,
                                                   Counters& counters);
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  /// HOST:PORT with the port really taken.
  [[nodiscard]] std::string address() const;
  /// Tells the agents to come back later and returns when no call into the ports is left. May be
  /// called twice.
  void stop();

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace faultline
