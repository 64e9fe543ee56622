// What the other plugin saw; the test sets its first two words.
#pragma once

#include <cstdint>

namespace faultline {

struct OtherProfilerLog {
  int mask = 2 | 64;
  bool refuses = false;
  int inits = 0;
  std::uint64_t starts = 0;
  std::uint64_t stops = 0;
  std::uint64_t types = 0;      // a bit each
  std::uint64_t strangers = 0;  // handles that it never gave out
  std::uint64_t with_parent = 0;
  std::uint64_t kernels_of_collectives = 0;
  std::uint64_t collectives_of_groups = 0;
  std::uint64_t gpu_ns = 0;
  int finalized = 0;
};

}  // namespace faultline
