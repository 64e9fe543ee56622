// Which boot of the machine this is.
#pragma once

#include <filesystem>
#include <string>

#include "base/time.h"

namespace faultline {

struct BootFacts {
  std::string boot_id;  // "" if /proc does not say
  Instant boot_time;    // to the second; unknown if /proc does not say
};

BootFacts read_boot_facts(const std::filesystem::path& proc = "/proc");

}  // namespace faultline
