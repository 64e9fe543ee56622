// Which notices have reached people. Each goes to several targets, and is over once every one of
// them has it or has given it up. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/time.h"
#include "model/incident.h"

namespace faultline {

class Deliveries {
 public:
  /// Returns the number of the notice, for its ends: one for each target.
  std::uint64_t begin(const Incident& incident, std::size_t targets);
  void end(std::uint64_t number, bool delivered);
  /// The incidents of the notices that are over since the last call and that some target has.
  std::vector<Incident> take_delivered();
  /// True once all are over; false if that took longer than `deadline`.
  bool wait_until_over(Duration deadline);

 private:
  struct Notice {
    Incident incident;
    std::size_t targets_left;
    bool delivered = false;
  };
  std::mutex mutex_;
  std::condition_variable over_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Notice> open_;
  std::vector<Incident> delivered_;
};

}  // namespace faultline
