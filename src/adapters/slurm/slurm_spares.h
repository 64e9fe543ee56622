// Where a requeued job goes. Spares that a site keeps in a reservation no job outside it can use,
// so a node is taken out when the job would otherwise lack one. docs/decisions/0010-rank-order.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "adapters/slurm/slurm_documents.h"
#include "model/action.h"

namespace faultline {

struct SlurmPool {
  std::vector<SlurmNode> nodes;
  std::vector<SlurmReservation> reservations;
  std::map<std::string, std::string> leaf_switch;  // of each node; empty without a topology
};

/// The nodes to take out of `reservation`, so that `job`, which has left its nodes, finds as many
/// as it needs: none if there are enough without, or if all that could be had are not enough. Those
/// under the switch of an excluded node come first, so that the job's way through the network stays
/// the same; then by name. The last node stays: Slurm keeps no empty reservation.
std::vector<std::string> spares_to_take(const SlurmJob& job, const SlurmPool& pool,
                                        const std::string& reservation);

/// The nodes that `job`, which has left its nodes, is to run on so that its ranks keep their order:
/// what the act wants kept, and idle nodes for what it lacks. Those under a lost node's switch come
/// first, then those with `spare_feature`; then by name. None unless all that is to be kept is
/// idle, and enough others are.
std::vector<std::string> placement(const SlurmJob& job, const SlurmPool& pool, const Action& act,
                                   const std::string& spare_feature);

/// What `reservation` holds without `taken`: 22.05 takes no "nodes-=".
std::vector<std::string> spares_left(const SlurmPool& pool, const std::string& reservation,
                                     const std::vector<std::string>& taken);

}  // namespace faultline
