// ErrorCode <-> gRPC status. Included by the .cc files that include gRPC anyway.
#pragma once

#include <grpcpp/support/status.h>

#include "base/result.h"

namespace faultline {

inline grpc::StatusCode to_grpc(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::not_found: return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::permission_denied: return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::unavailable: return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::deadline_exceeded: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::conflict: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::corrupt: return grpc::StatusCode::DATA_LOSS;
    case ErrorCode::exhausted: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::internal: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

inline ErrorCode from_grpc(grpc::StatusCode code) {
  // The other side may be of another version and use any of them.
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE: return ErrorCode::invalid_argument;
    case grpc::StatusCode::NOT_FOUND: return ErrorCode::not_found;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return ErrorCode::permission_denied;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return ErrorCode::deadline_exceeded;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION: return ErrorCode::conflict;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return ErrorCode::exhausted;
    case grpc::StatusCode::DATA_LOSS: return ErrorCode::corrupt;
    default: return ErrorCode::unavailable;
  }
}

}  // namespace faultline
