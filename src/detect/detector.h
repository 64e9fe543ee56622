// A detector turns events into verdicts. Deterministic: the same events and times give the same
// verdicts. It knows no clock, thread, file, SQL or log. To add one: a new file here and one line
// in detectors.def.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "model/attempt.h"
#include "model/event.h"
#include "model/verdict.h"

namespace faultline {

class VerdictSink {
 public:
  virtual ~VerdictSink() = default;
  /// Raises a verdict or replaces the one with the same id (update, confirm, clear).
  virtual void verdict(const Verdict& verdict) = 0;
};

class Detector {
 public:
  virtual ~Detector() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Events arrive ordered by the controller's corrected time, duplicates removed; late ones still
  /// may come. Cheap; unknown kinds are ignored.
  virtual void observe(const Event& event) = 0;
  /// Called at the times that detectors.h gives. Silence becomes a verdict here and nowhere else.
  virtual void evaluate(Instant now, VerdictSink& verdicts) = 0;
};

/// Every detector of detectors.def, in its order. The catalog must outlive them.
std::vector<std::unique_ptr<Detector>> make_detectors(const Catalog& catalog);

}  // namespace faultline
