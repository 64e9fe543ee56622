// What `faultline run` tells the node's agent and hears from it. An agent that is absent, restarts
// or hangs never holds up the job: everything is tried again later or dropped.
#pragma once

#include <string>
#include <vector>

#include "adapters/agent_socket/agent_client.h"
#include "agent/launcher.h"
#include "base/clock.h"

namespace faultline {

class RunAgentLink {
 public:
  /// `start` is the announcement; it is repeated after each reconnection.
  RunAgentLink(std::string socket, LauncherMessage start, const Clock& clock);

  /// Connects if there is no connection and the last try is long enough ago. ok if connected.
  Status connect();
  /// Tells the agent, connecting again if need be; lost if there is none.
  void tell(const LauncherMessage& message);
  /// Replies that came.
  std::vector<LauncherReply> hear();
  /// Gives the connection up.
  void leave() { client_.close(); }
  [[nodiscard]] bool connected() const { return client_.connected(); }
  [[nodiscard]] int wait_descriptor() const { return client_.wait_descriptor(); }
  /// When connect() is worth calling again.
  [[nodiscard]] Duration next_try() const { return next_try_; }
  /// A message about this rank with the fields that all of them have.
  [[nodiscard]] LauncherMessage message(LauncherVerb verb) const;

 private:
  std::string socket_;
  LauncherMessage start_;
  const Clock& clock_;
  AgentClient client_;
  Duration next_try_{0};
};

}  // namespace faultline
