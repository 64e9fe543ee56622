// Pods of jobs: which run of which job each belongs to, and how runs began and ended.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/attempt.h"

namespace faultline {

/// How a container ended.
struct ContainerEnd {
  std::string name;
  std::optional<std::int32_t> exit_code;
  std::int32_t signal = 0;
  std::string reason;  // "OOMKilled", "Error", "Completed"
  Instant at;
};

/// What Kubernetes says of a pod, and why, in its own words.
struct PodRemark {
  std::string reason;  // "Evicted"
  std::string message;
};

struct KubernetesPod {
  std::string name;
  std::string node;
  AttemptId attempt;  // the restart is set by number_restarts()
  std::string index;  // what tells it from its peers: "worker-1", ""
  bool told_restart = false;
  std::int32_t rank = -1;  // -1 where the pod may hold several
  AttemptState state = AttemptState::unknown;
  Instant created;
  Instant started;
  Instant ended;
  std::optional<std::int32_t> exit_code;
  std::vector<ContainerEnd> ends;
  std::vector<PodRemark> remarks;
  std::uint64_t offset = 0;
};

/// nullopt for a pod of a service, and for what is no pod.
std::optional<KubernetesPod> read_kubernetes_pod(const nlohmann::json& object,
                                                 std::uint64_t offset);

/// What its name alone tells of a pod's job: controllers append the role, numbers, and five letters
/// ("llm-worker-3", "llm-0-x7k2p"). "" for the pod of a ReplicaSet, which is a service's.
std::string job_of_pod_name(std::string_view pod);

/// Pods with one index were there one after the other, each in a run of its own.
void number_restarts(std::vector<KubernetesPod>& pods);

/// The runs that pods make, with where the first of their pods stands.
struct KubernetesRun {
  Attempt attempt;
  std::uint64_t offset = 0;
};
std::vector<KubernetesRun> runs_of(const std::vector<KubernetesPod>& pods);

/// Kubernetes' time of a member, "2026-11-29T21:18:32Z"; not known if it is none.
Instant kubernetes_time(const nlohmann::json& object, const char* name);

}  // namespace faultline
