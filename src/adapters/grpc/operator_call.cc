#include <grpc/grpc_security_constants.h>

#include "adapters/grpc/server_loop.h"
#include "base/text.h"
#include "wire/convert.h"

namespace faultline::grpc_server {
namespace {

constexpr std::size_t operator_text_bytes_max = 512;

std::vector<std::string> peer_values(const grpc::ServerContext& context, const char* property) {
  std::vector<std::string> values;
  for (const auto& value : context.auth_context()->FindPropertyValues(property)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

}  // namespace

Result<Peer> peer_of(const grpc::ServerContext& context, bool tls, PeerRole wanted) {
  if (!tls) return Peer{"", wanted};
  auto peer = peer_of_certificate(peer_values(context, GRPC_X509_CN_PROPERTY_NAME),
                                  peer_values(context, GRPC_PEER_URI_PROPERTY_NAME));
  if (!peer || peer->role == wanted) return peer;
  return Error{ErrorCode::permission_denied, "the certificate of '" + peer->name +
                                                 "' has the role " +
                                                 std::string(to_text(peer->role)) +
                                                 ", this needs " + std::string(to_text(wanted))};
}

Step OperatorCall::step(void (OperatorCall::*then)(bool)) {
  return {[this, then](bool ok) {
    --pending_;
    (this->*then)(ok);
    if (pending_ == 0) loop_.release_call(id_);
  }};
}

void OperatorCall::arm() {
  ++pending_;
  loop_.service.RequestOperate(&context_, &request_, &responder_, loop_.queue.get(),
                               loop_.queue.get(), &on_call_);
}

void OperatorCall::called(bool ok) {
  if (!ok) return;
  loop_.arm_call();
  if (const auto asked = ask(); !asked) finish(asked.error());
}

Status OperatorCall::ask() {
  const bool tls = loop_.options.tls.has_value();
  const auto peer = peer_of(context_, tls, PeerRole::operators);
  if (!peer) {
    loop_.counters.add("grpc_peers_refused_total");
    loop_.warn("refused " + context_.peer() + ": " + peer.error().message);
    return peer.error();
  }
  if (request_.protocol() != protocol_version) {
    return Error{ErrorCode::conflict, "the command and the controller are of different versions"};
  }
  for (const auto* text : {&request_.request(), &request_.target()}) {
    if (text->size() > operator_text_bytes_max ||
        printable(*text, operator_text_bytes_max) != *text) {
      return Error{ErrorCode::invalid_argument, "request or target too long or not text"};
    }
  }
  const auto kind = parse_enum<RequestKind>(request_.request());
  if (!kind)
    return Error{ErrorCode::invalid_argument, "unknown request '" + request_.request() + "'"};
  const std::string who = tls ? peer->name : "loopback";
  ++pending_;
  const bool taken = loop_.workers.submit([this, who, kind = *kind] {
    answer_ = loop_.operators.operate(who, kind, request_.target());
    loop_.wake(on_work_);
  });
  if (taken) return ok_status();
  --pending_;
  return Error{ErrorCode::exhausted, "the controller has too much to do, try again"};
}

void OperatorCall::work_done(bool) { finish(*answer_); }

void OperatorCall::finish(const Result<PersonAnswer>& result) {
  ++pending_;
  if (!result) return responder_.FinishWithError(refusal(result.error()), &on_finish_);
  reply_.set_text(to_text(*result));
  responder_.Finish(reply_, grpc::Status::OK, &on_finish_);
}

}  // namespace faultline::grpc_server
