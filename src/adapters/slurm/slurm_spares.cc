#include "adapters/slurm/slurm_spares.h"

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/text.h"

namespace faultline {
namespace {

/// A job may name several partitions, "train,long".
bool in_partition_of(const SlurmJob& job, const SchedulerNode& node) {
  const auto wanted = split(job.partitions, ',');
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](auto partition) { return contains(node.partitions, partition); });
}

}  // namespace

std::vector<std::string> spares_to_take(const SlurmJob& job, const SlurmPool& pool,
                                        const std::string& reservation) {
  const auto kept = std::find_if(pool.reservations.begin(), pool.reservations.end(),
                                 [&](const auto& one) { return one.name == reservation; });
  if (kept == pool.reservations.end() || kept->maintenance) return {};
  std::set<std::string> others;  // what other reservations hold
  for (const auto& one : pool.reservations) {
    if (&one != &*kept && one.active) others.insert(one.nodes.begin(), one.nodes.end());
  }
  std::set<std::string> lost_switches;
  for (const auto& node : job.excluded) {
    if (const auto leaf = pool.leaf_switch.find(node); leaf != pool.leaf_switch.end())
      lost_switches.insert(leaf->second);
  }
  std::size_t usable = 0;
  std::vector<std::pair<bool, std::string>> spares;  // far from the lost node, name
  for (const auto& [node, features, reserved] : pool.nodes) {
    const bool fits = node.idle && in_partition_of(job, node) &&
                      !contains(job.excluded, node.name) && !others.contains(node.name);
    if (!fits) continue;
    if (!contains(kept->nodes, node.name)) {
      ++usable;
      continue;
    }
    const auto leaf = pool.leaf_switch.find(node.name);
    const bool near = leaf != pool.leaf_switch.end() && lost_switches.contains(leaf->second);
    spares.emplace_back(!near, node.name);
  }
  if (usable >= job.node_count) return {};
  const std::size_t lacking = job.node_count - usable;
  if (lacking > spares.size() || lacking >= kept->nodes.size()) return {};
  std::sort(spares.begin(), spares.end());
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < lacking; ++i) taken.push_back(spares[i].second);
  return taken;
}

std::vector<std::string> spares_left(const SlurmPool& pool, const std::string& reservation,
                                     const std::vector<std::string>& taken) {
  std::vector<std::string> left;
  for (const auto& one : pool.reservations) {
    if (one.name == reservation) left = one.nodes;
  }
  std::erase_if(left, [&](const auto& node) { return contains(taken, node); });
  return left;
}

}  // namespace faultline
