#include "adapters/slurm/slurm_tie.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace faultline {
namespace {

constexpr std::string_view act_prefix = "faultline:";
constexpr std::string_view tie_prefix = " tied=";

/// squeue shows a comment's first bytes only, and a list of nodes is as long as the job is wide.
std::string digest(std::vector<std::string> nodes) {
  std::sort(nodes.begin(), nodes.end());
  StableHash hash;
  for (const auto& node : nodes) hash.add(node);
  return hash.hex();
}

}  // namespace

std::string comment_of(const ActionId& act, const std::vector<std::string>& tied_to) {
  std::string comment = std::string(act_prefix) + act;
  if (!tied_to.empty()) comment += std::string(tie_prefix) + digest(tied_to);
  return comment;
}

bool may_comment(const SlurmJob& job) {
  return job.admin_comment.empty() || reason_is_ours(job.admin_comment);
}

ActionId act_of(const SlurmJob& job) {
  if (!reason_is_ours(job.admin_comment)) return {};
  const auto tag = job.admin_comment.substr(0, job.admin_comment.find(' '));
  return tag.substr(act_prefix.size());
}

bool is_tied(const SlurmJob& job) {
  const auto act = act_of(job);
  return !act.empty() && !job.required.empty() &&
         job.admin_comment == comment_of(act, job.required);
}

}  // namespace faultline
