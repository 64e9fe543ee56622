#include "detect/missing_gpu.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "detect/cause_ids.h"

namespace faultline {
namespace {

/// On `node`, or on the only one that there is.
bool misses_gpu_there(const JobLine& line, const std::string& node, const FailureCase& failure) {
  const bool only = line.node.empty() && failure.attempt.nodes.size() == 1;
  return misses_gpu(line) && (line.node == node || only);
}

/// What takes a GPU away from every program that comes after. Of several cards that the driver
/// could not bring up its files may be the wrong ones.
bool takes_gpu_away(const KernelFault& fault, const NodeFaults& on_node) {
  static constexpr std::array causes = {cause_id::fell_off_bus, cause_id::gsp_timeout,
                                        cause_id::recovery_reset};
  if (fault.cause->id != cause_id::init_failed)
    return fault.decisive && contains(causes, fault.cause->id);
  return std::count_if(on_node.faults.begin(), on_node.faults.end(), [](const auto& other) {
           return other.cause->id == cause_id::init_failed;
         }) == 1;
}

/// A container's runtime did not find the device that it was to hand in.
bool runtime_misses_device(const JobLine& line) {
  return line.cause->id == cause_id::container_start && !line.fact->event.field("device").empty();
}

}  // namespace

bool misses_gpu(const JobLine& line) {
  static constexpr std::array causes = {cause_id::gpu_missing, cause_id::gpu_unavailable,
                                        cause_id::device_ordinal, cause_id::no_gpu_for_process};
  return contains(causes, line.cause->id) || runtime_misses_device(line);
}

bool explains_missing_gpu(const KernelFault& fault, const NodeFaults& on_node,
                          const FailureCase& failure) {
  if (!takes_gpu_away(fault, on_node)) return false;
  const auto first =
      std::find_if(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
        return misses_gpu_there(line, on_node.node, failure) ||
               (is_own_error(line) && lies_outside_node(*line.cause));
      });
  return first != failure.lines.end() && misses_gpu_there(*first, on_node.node, failure);
}

}  // namespace faultline
