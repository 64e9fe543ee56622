#include "apps/run_identity.h"

#include <cstdlib>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t gpus_max = 64;

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] std::string text(std::string_view name) const {
    return environment_(name).value_or("");
  }
  [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }
  [[nodiscard]] std::optional<std::int32_t> number(std::string_view name) const {
    return number_of(environment_, name);
  }

 private:
  const Environment& environment_;
};

void read_job(const Environment& environment, std::int64_t pid, RunIdentity& me) {
  NamedAttempt named = attempt_of_environment(environment);
  me.attempt = std::move(named.attempt);
  me.job_from = std::move(named.from);
  if (!me.attempt.job.empty()) return;
  me.attempt = {"local-" + std::to_string(pid), 0};
  me.job_from = "alone";
}

struct RankVariables {
  std::string_view from;
  std::string_view rank;
  std::string_view local_rank;
  std::string_view world;
};

/// Innermost launcher first. RANK alone comes last: people export it by hand from SLURM_PROCID.
constexpr RankVariables rank_variables[] = {
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    {"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
    {"environment", "RANK", "LOCAL_RANK", "WORLD_SIZE"},
};

void read_rank(const Variables& env, RunIdentity& me) {
  me.rank_from = "alone";
  const auto take = [&](std::string_view from, const RankVariables& names) {
    const auto rank = env.number(names.rank);
    if (!rank) return false;
    me.rank = *rank;
    me.local_rank = env.number(names.local_rank).value_or(0);
    me.world = env.number(names.world).value_or(*rank + 1);
    me.rank_from = from;
    return true;
  };
  if (env.has("TORCHELASTIC_RUN_ID") && take("torchrun", rank_variables[3])) return;
  for (const RankVariables& names : rank_variables) {
    if (take(names.from, names)) return;
  }
}

std::string read_node(const Variables& env, std::string_view host, const RunIdentity& me) {
  if (const std::string node = env.text("FAULTLINE_NODE"); valid_node_name(node)) return node;
  if (const std::string node = env.text("SLURMD_NODENAME"); valid_node_name(node)) return node;
  if (const std::string list = env.text("FAULTLINE_NODES"); !list.empty()) {
    const auto nodes = split(list, ',');
    const auto index = static_cast<std::size_t>(me.rank);
    if (index < nodes.size() && valid_node_name(nodes[index])) return std::string(nodes[index]);
  }
  const std::string_view name =
      host.substr(0, host.find('.'));  // schedulers name nodes without the domain
  return valid_node_name(name) ? std::string(name) : "localhost";
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

RunIdentity identify_run(const Environment& environment, std::string_view host, std::int64_t pid) {
  const Variables env(environment);
  RunIdentity me;
  read_job(environment, pid, me);
  read_rank(env, me);
  me.node = read_node(env, host, me);
  const std::string visible = env.text("CUDA_VISIBLE_DEVICES");
  for (const std::string_view gpu : split(visible, ',')) {
    if (!trim(gpu).empty() && me.gpus.size() < gpus_max)
      me.gpus.push_back(printable(trim(gpu), 64));
  }
  return me;
}

}  // namespace faultline
