#include "adapters/grpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>

#include <utility>

#include "adapters/grpc/peer.h"
#include "adapters/grpc/server.h"
#include "adapters/grpc/status_codes.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t client_memory_bytes_max = std::size_t{8} << 20;

grpc::ChannelArguments small_channel(const ControllerAddress& controller) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(message_bytes_max);
  arguments.SetMaxSendMessageSize(message_bytes_max);
  // What to try again and when is ours to say, and every part left out is memory saved on each
  // node.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CENSUS, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                   1);  // a new connection must not meet the old one's state
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  grpc::ResourceQuota quota("agent");
  quota.Resize(client_memory_bytes_max);
  arguments.SetResourceQuota(quota);
  if (controller.tls && !controller.name.empty())
    arguments.SetSslTargetNameOverride(controller.name);
  return arguments;
}

constexpr std::string_view not_connected = "failed to connect to all addresses";

/// The end of "failed to connect to all addresses; last error: UNKNOWN: ipv4:ADDRESS: REASON".
std::string last_reason(std::string_view why) {
  return std::string(trim(why.substr(why.rfind(':') + 1)));
}

/// The connection stood and ended in the handshake. Of a certificate that it does not take, a
/// controller says nothing: it closes.
bool ended_in_handshake(const std::string& why) {
  const auto has = [&](std::string_view part) { return why.find(part) != std::string::npos; };
  return why.starts_with(not_connected) &&
         (has("handshake failed") || has("Socket closed") || has("Connection reset"));
}

std::string handshake_advice(const std::optional<TlsFiles>& tls) {
  if (!tls) return ": does it want certificates (--tls-cert, --tls-key, --tls-ca)?";
  return ": is " + tls->certificate +
         " from the controller's authority, is the controller's from " + tls->authority +
         ", does it speak TLS, and has neither ended?";
}

}  // namespace

Result<OpenChannel> open_channel(const ControllerAddress& controller, Instant now) {
  if (!controller.tls) {
    if (!is_loopback(controller.address)) {
      return Error{ErrorCode::invalid_argument,
                   "going to " + controller.address +
                       " without certificates is refused: give them (`faultline pki`)"};
    }
    return OpenChannel{grpc::CreateCustomChannel(
        controller.address, grpc::InsecureChannelCredentials(), small_channel(controller))};
  }
  const auto text = load_tls(*controller.tls, now);
  if (!text) return text.error();
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = text->authority;
  ssl.pem_cert_chain = text->certificate;
  ssl.pem_private_key = text->key;
  return OpenChannel{grpc::CreateCustomChannel(controller.address, grpc::SslCredentials(ssl),
                                               small_channel(controller)),
                     text->own.not_after - now};
}

Error error_of(const grpc::Status& status, const ControllerAddress& controller) {
  auto code = status.ok() ? ErrorCode::unavailable : from_grpc(status.error_code());
  std::string why = status.ok() ? "it closed the stream" : printable(status.error_message(), 400);
  if (ended_in_handshake(why)) {
    code = ErrorCode::permission_denied;
    why = "refused in the handshake (" + last_reason(why) + ")" + handshake_advice(controller.tls);
  } else if (why.starts_with(not_connected)) {
    why = last_reason(why);
  }
  return {code, "controller " + controller.address + ": " + why};
}

}  // namespace faultline
