// What the decoder of a file could not keep or understand, as warnings: nothing is left out without
// a word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/counter_values.h"
#include "diagnose/gather.h"
#include "diagnose/input.h"
#include "model/event.h"

namespace faultline {

/// Of one file.
class Losses {
 public:
  /// Takes the source_gap events among them.
  void add(const std::vector<Event>& events);
  /// What its decoder counted.
  void add(const CounterValues& counted);
  [[nodiscard]] std::vector<InputWarning> warnings(const ReadFile& file) const;

 private:
  std::map<std::string, std::uint64_t, std::less<>>
      lost_;  // by the reason of a gap, or by the counter
};

}  // namespace faultline
