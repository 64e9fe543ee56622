// A requeued job is tied to the nodes that it had and to a spare for each lost one, by ReqNodeList,
// so that its ranks keep their order. Slurm takes the list from no job that runs: the job's
// AdminComment goes on saying that it is not its user's. docs/decisions/0010-rank-order.md.
#pragma once

#include <string>
#include <vector>

#include "adapters/slurm/slurm_documents.h"
#include "model/action.h"

namespace faultline {

/// What an act writes as the job's AdminComment: whose requeue it is, and which node list is ours.
std::string comment_of(const ActionId& act, const std::vector<std::string>& tied_to);

/// Somebody else's comment is never overwritten.
bool may_comment(const SlurmJob& job);

/// The act whose comment the job carries, "" if it is somebody else's or there is none.
ActionId act_of(const SlurmJob& job);

/// The node list that the job carries is ours, exactly as we wrote it.
bool is_tied(const SlurmJob& job);

}  // namespace faultline
