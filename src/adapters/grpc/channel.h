// The client's channel to the controller, and what its failures mean. Included by the .cc files
// that include gRPC anyway.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "adapters/grpc/client.h"

namespace faultline {

struct OpenChannel {
  std::shared_ptr<grpc::Channel> channel;
  Duration certificate_left{0};  // 0 without TLS
};

/// Does not connect yet. Errors: those of load_tls; invalid_argument without certificates to
/// another machine.
Result<OpenChannel> open_channel(const ControllerAddress& controller, Instant now);

/// Why a call to the controller ended. permission_denied also for a handshake that it, or we,
/// refused.
Error error_of(const grpc::Status& status, const ControllerAddress& controller);

}  // namespace faultline
