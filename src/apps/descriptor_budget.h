// How many files and sockets others may make the agent open. gRPC ends the process when it can have
// no descriptor, so what launchers and logs take stays well below the limit, whatever that is.
#pragma once

#include <cstddef>

namespace faultline {

struct DescriptorBudget {
  std::size_t connections_max = 0;  // of launchers
  std::size_t connections_per_user_max = 0;
  std::size_t logs_max = 0;  // each may have two files open, after a rotation
};

/// Raises this process's limit to what the agent wants, as far as it may. The limit then.
std::size_t raise_descriptor_limit();

/// Half of the descriptors at most, and no more than the agent's own limits.
DescriptorBudget budget_of(std::size_t descriptors);

}  // namespace faultline
