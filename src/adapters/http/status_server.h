// What load balancers and Prometheus ask of a running program: GET (or HEAD) /healthz and
// /metrics, and nothing else; one request a connection. It shows counts and reasons, so it listens
// on loopback unless told otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/http/prometheus.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

struct Health {
  bool ok = true;
  std::vector<std::string> reasons;  // why not, or what is worth knowing; one line each
};

/// What is shown. Called from the server's thread; must return soon.
class StatusSource {
 public:
  virtual ~StatusSource() = default;
  virtual Health health() = 0;
  virtual std::vector<Metric> metrics() = 0;
};

struct StatusServerOptions {
  std::string listen = "127.0.0.1:9177";              // HOST:PORT; port 0 takes a free one
  std::size_t connections_max = 64;                   // one more, and the oldest of them is closed
  Duration client_timeout = std::chrono::seconds{5};  // from its connection to the answer's end
};

class StatusServer {
 public:
  /// Listens at once. invalid_argument: not HOST:PORT; unavailable: cannot listen there. `source`
  /// must outlive it.
  static Result<std::unique_ptr<StatusServer>> start(const StatusServerOptions& options,
                                                     StatusSource& source);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;
  /// HOST:PORT with the port really taken.
  [[nodiscard]] std::string address() const;

 private:
  class Impl;
  explicit StatusServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace faultline
