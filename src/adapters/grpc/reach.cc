#include "adapters/grpc/reach.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include "adapters/grpc/channel.h"

namespace faultline {
namespace {

// A method that no controller has: that it says so is an answer, and changes nothing there.
constexpr const char* no_method = "/faultline.Reach/Reach";

grpc::Status ask(const std::shared_ptr<grpc::Channel>& channel, Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_nanos(deadline.count(), GPR_TIMESPAN)));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, no_method, grpc::ByteBuffer(), &queue);
  call->StartCall();
  call->Finish(&answer, &status, &status);
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) continue;  // ends with the deadline at the latest
  return status;
}

}  // namespace

Status reach(const ControllerAddress& controller, const Clock& clock, Duration deadline) {
  const auto channel = open_channel(controller, clock.now());
  if (!channel) return channel.error();
  const grpc::Status status = ask(channel->channel, deadline);
  if (status.ok() || status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return ok_status();
  return error_of(status, controller);
}

}  // namespace faultline
