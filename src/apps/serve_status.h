// What /healthz and /metrics say about a running controller.
#pragma once

#include "adapters/http/status_server.h"
#include "base/clock.h"
#include "base/counters.h"
#include "controller/controller.h"

namespace faultline {

class ServeStatus final : public StatusSource {
 public:
  /// All must outlive it.
  ServeStatus(const Controller& controller, const Counters& counters, const Clock& clock)
      : controller_(controller), counters_(counters), clock_(clock) {}
  Health health() override;
  std::vector<Metric> metrics() override;

 private:
  const Controller& controller_;
  const Counters& counters_;
  const Clock& clock_;
};

}  // namespace faultline
