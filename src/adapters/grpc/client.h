// The other side of the transport: the agent's uplink, and the call that a person's command makes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/grpc/tls_files.h"
#include "agent/ports.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/result.h"
#include "base/rng.h"
#include "model/person_request.h"

namespace faultline {

struct ControllerAddress {
  std::string address;          // HOST:PORT
  std::optional<TlsFiles> tls;  // absent: plain text, to loopback only
  std::string name = {};        // the name in the controller's certificate, if it is not HOST
};

struct GrpcUplinkOptions {
  ControllerAddress controller;
  std::string node;  // must be the name in the certificate
  Duration connect_deadline = std::chrono::seconds{5};
  Duration backoff_first = std::chrono::milliseconds{500};
  /// Well below the silence after which an agent counts as lost.
  Duration backoff_longest = std::chrono::seconds{10};
  Duration certificate_warning = std::chrono::days{14};
  /// What a person should see and no Status tells: events refused, a certificate that ends soon.
  /// Called from the thread that calls the uplink.
  std::function<void(const std::string&)> warn = {};
};

/// One bidirectional stream to the controller, opened when first needed and again, after a wait,
/// when it breaks. Owns no thread: gRPC runs inside the calls, which is what keeps an agent small;
/// so call take_rulings every second or so.
class GrpcUplink final : public Uplink {
 public:
  GrpcUplink(GrpcUplinkOptions options, const Clock& clock, Rng rng, Counters& counters);
  ~GrpcUplink() override;

  void introduce(const AgentIdentity& who) override;
  /// ok: every event is durable at the controller, or will never be taken (counted, and told
  /// through `warn`). unavailable: no connection; deadline_exceeded: no answer in time, the stream
  /// was given up; exhausted: the controller has too much to do. permission_denied: it will not
  /// have us, or we not it; not_found: our own files are not there; conflict: they do not fit, or
  /// another agent speaks in the node's name. While the wait after a failure lasts, its error is
  /// given again. In all of these, send the same events again later.
  Status send(const std::vector<Event>& events, Duration deadline) override;
  Status heartbeat(Instant now, const CounterValues& counters) override;
  std::vector<Ruling> take_rulings() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Asks the controller to approve, deny or return, as the person that the certificate names.
Result<PersonAnswer> operate(const ControllerAddress& controller, RequestKind kind,
                             const std::string& target, const Clock& clock,
                             Duration deadline = std::chrono::seconds{10});

}  // namespace faultline
