#include "adapters/slurm/slurm_spares.h"

#include <algorithm>
#include <set>
#include <tuple>

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

std::set<std::string> leaf_switches(const SlurmPool& pool, const std::vector<std::string>& nodes) {
  std::set<std::string> switches;
  for (const auto& node : nodes) {
    if (const auto leaf = pool.leaf_switch.find(node); leaf != pool.leaf_switch.end())
      switches.insert(leaf->second);
  }
  return switches;
}

bool under_one_of(const SlurmPool& pool, const std::string& node,
                  const std::set<std::string>& switches) {
  const auto leaf = pool.leaf_switch.find(node);
  return leaf != pool.leaf_switch.end() && switches.contains(leaf->second);
}

/// Where the job could run at once.
std::vector<SlurmNode> free_for(const SlurmJob& job, const SlurmPool& pool) {
  std::vector<SlurmNode> free = pool.nodes;
  std::erase_if(free, [&](const SlurmNode& one) {
    const auto& name = one.node.name;
    return !one.node.idle || !in_partition_of(job, one.node) || contains(job.excluded, name) ||
           std::any_of(pool.reservations.begin(), pool.reservations.end(),
                       [&](const auto& held) { return held.active && contains(held.nodes, name); });
  });
  return free;
}

}  // namespace

std::vector<std::string> placement(const SlurmJob& job, const SlurmPool& pool, const Action& act,
                                   const std::string& spare_feature) {
  const auto switches = leaf_switches(pool, act.nodes);
  std::vector<std::string> placed;
  std::vector<std::tuple<bool, bool, std::string>> spares;  // far, without the feature, name
  for (const auto& [node, features, reserved] : free_for(job, pool)) {
    if (contains(act.keep, node.name)) {
      placed.push_back(node.name);
    } else {
      spares.emplace_back(!under_one_of(pool, node.name, switches),
                          !contains(features, spare_feature), node.name);
    }
  }
  const bool all_kept = !act.keep.empty() && placed.size() == act.keep.size();
  if (!all_kept || job.node_count < placed.size()) return {};
  const std::size_t lacking = job.node_count - placed.size();
  if (lacking > spares.size()) return {};
  std::sort(spares.begin(), spares.end());
  for (std::size_t i = 0; i < lacking; ++i) placed.push_back(std::get<std::string>(spares[i]));
  return placed;
}

std::vector<std::string> spares_to_take(const SlurmJob& job, const SlurmPool& pool,
                                        const std::string& reservation) {
  const auto kept = std::find_if(pool.reservations.begin(), pool.reservations.end(),
                                 [&](const auto& one) { return one.name == reservation; });
  if (kept == pool.reservations.end() || kept->maintenance) return {};
  std::set<std::string> others;  // what other reservations hold
  for (const auto& one : pool.reservations) {
    if (&one != &*kept && one.active) others.insert(one.nodes.begin(), one.nodes.end());
  }
  const auto lost_switches = leaf_switches(pool, job.excluded);
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
    spares.emplace_back(!under_one_of(pool, node.name, lost_switches), node.name);
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
