// What /healthz and /metrics say about a running controller.
#pragma once

#include "adapters/http/status_server.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/controller.h"

namespace faultline {

/// The page of metrics: what the controller counts, what each node's agent does, by node, and how
/// the controller is. No series stands on it twice, whatever names the agents send.
std::vector<Metric> status_metrics(const ControllerHealth& state, const CounterValues& own,
                                   const std::map<std::string, CounterValues>& agents, Instant now);

/// Asked from the status server's thread while the controller works on another: what it reads locks
/// itself, and the rest is const.
class ServeStatus final : public StatusSource {
 public:
  /// All must outlive it. `found_at_start` is worth knowing until the next start; "": nothing.
  ServeStatus(const Controller& controller, const Counters& counters, const Clock& clock,
              std::string found_at_start)
      : controller_(controller),
        counters_(counters),
        clock_(clock),
        found_at_start_(std::move(found_at_start)) {}
  Health health() override;
  std::vector<Metric> metrics() override;

 private:
  const Controller& controller_;
  const Counters& counters_;
  const Clock& clock_;
  const std::string found_at_start_;
};

}  // namespace faultline
