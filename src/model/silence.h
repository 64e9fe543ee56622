// Silence: by a person's word, nothing is done about a subject for some time.
#pragma once

#include <string>

#include "base/time.h"
#include "model/subject.h"

namespace faultline {

struct Silence {
  std::string id;   // "s-" and the number of its request
  Subject subject;  // decisions about it, or what lies in it, are held
  Instant since, until;
  std::string by, reason;
  Instant ended_at = {};  // by a person, ahead of `until`; unknown otherwise
  std::string ended_by = {};

  [[nodiscard]] bool holds(Instant now) const { return !known(ended_at) && now < until; }
};

}  // namespace faultline
