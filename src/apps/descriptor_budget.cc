#include "apps/descriptor_budget.h"

#include <sys/resource.h>

#include <algorithm>

#include "adapters/agent_socket/unix_door.h"
#include "agent/log_reader.h"

namespace faultline {
namespace {

constexpr rlim_t descriptors_wanted = 4096;  // all limits at their defaults, and as much again

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit before = limit;
  limit.rlim_cur = std::max(before.rlim_cur, std::min(before.rlim_max, descriptors_wanted));
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit = before;
  return limit.rlim_cur;
}

DescriptorBudget budget_of(std::size_t descriptors) {
  const UnixDoor::Limits door;
  DescriptorBudget budget;
  budget.connections_max = std::min(door.connections_max, descriptors / 4);
  budget.connections_per_user_max =
      std::min(door.connections_per_user_max, budget.connections_max / 2);
  budget.logs_max = std::min(LogReader::Settings{}.logs_max, descriptors / 8);
  return budget;
}

}  // namespace faultline
