// Turns NVML readings into facts: who each GPU is, once, and a reading only when something changed
// that can be judged. A temperature is not a fact worth sending every ten seconds from ten thousand
// GPUs; a new uncorrectable error is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "base/time.h"
#include "model/event.h"

namespace faultline {

class GpuWatch {
 public:
  explicit GpuWatch(std::string node) : node_(std::move(node)) {}

  /// The events that this round of samples is worth: kind, subject and fields; the caller adds the
  /// rest.
  std::vector<Event> observe(const std::vector<GpuSample>& samples, Instant now);

  struct Identity {
    std::string uuid;
    std::string serial;
  };
  /// nullptr if the GPU has not been seen.
  [[nodiscard]] const Identity* identity(std::string_view pci_address) const;

 private:
  struct Known {
    Identity identity;
    GpuSample last;
    bool missing = false;
  };
  [[nodiscard]] Event make(EventKind kind, const std::string& pci, Instant now) const;
  static GpuSample with_known(const GpuSample& before, GpuSample now);
  static void compare(const GpuSample* before, const GpuSample& now, Fields& fields);

  std::string node_;
  std::map<std::string, Known, std::less<>> gpus_;  // by canonical PCI address
};

}  // namespace faultline
