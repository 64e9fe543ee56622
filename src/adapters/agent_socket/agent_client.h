// The launcher's end of the agent socket. Nothing in it blocks: a stuck agent must not hold up a
// job.
#pragma once

#include <string>
#include <vector>

#include "agent/launcher.h"
#include "base/result.h"

namespace faultline {

class AgentClient {
 public:
  AgentClient() = default;
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;
  ~AgentClient() { close(); }

  /// unavailable if no agent listens there.
  Status connect(const std::string& path);
  /// Queues and sends. unavailable when the agent is gone or does not read; the connection is then
  /// closed.
  Status send(const LauncherMessage& message);
  /// What came, possibly nothing. unavailable when the agent closed the connection.
  Result<std::vector<LauncherReply>> poll();
  void close();

  [[nodiscard]] bool connected() const { return descriptor_ >= 0; }
  /// Readable when poll() has something to do; -1 if not connected.
  [[nodiscard]] int wait_descriptor() const { return descriptor_; }

 private:
  Status lost(std::string_view why);

  int descriptor_ = -1;
  std::string in_;
};

}  // namespace faultline
