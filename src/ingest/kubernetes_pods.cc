#include "ingest/kubernetes_pods.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/json_values.h"
#include "model/names.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

constexpr std::size_t remark_bytes_max = 1024;
constexpr std::int32_t rank_max = 10'000'000;

/// Whose pods run as long as they can: no job.
constexpr std::array<std::string_view, 3> service_owners = {"DaemonSet", "ReplicaSet", "Node"};

/// What frameworks write on a pod: the job, where the owner is only a part of it ...
constexpr std::array job_labels = {
    "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name", "volcano.sh/job-name", "ray.io/cluster"};
/// ... and its place in it.
constexpr std::array index_labels = {"jobset.sigs.k8s.io/job-global-index",
                                     "batch.kubernetes.io/job-completion-index",
                                     "training.kubeflow.org/replica-index",
                                     "leaderworkerset.sigs.k8s.io/worker-index",
                                     "volcano.sh/task-index",
                                     "apps.kubernetes.io/pod-index"};
constexpr const char* type_label = "training.kubeflow.org/replica-type";
constexpr const char* restart_label = "jobset.sigs.k8s.io/restart-attempt";

/// Reasons of a pod, or of its disruption, and what they make of its run.
constexpr std::array<std::pair<std::string_view, AttemptState>, 10> states_by_reason{{
    {"Preempting", AttemptState::preempted},
    {"Preempted", AttemptState::preempted},
    {"PreemptionByScheduler", AttemptState::preempted},
    {"PreemptionByKubeScheduler", AttemptState::preempted},
    {"EvictionByEvictionAPI", AttemptState::cancelled},  // somebody drains the node
    {"DeadlineExceeded", AttemptState::timeout},
    {"NodeLost", AttemptState::node_fail},
    {"NodeShutdown", AttemptState::node_fail},
    {"DeletionByTaintManager", AttemptState::node_fail},
    {"OOMKilled", AttemptState::out_of_memory},
}};

const Json& inner(const Json& object, const char* name, const char* member) {
  return json_field(json_field(object, name), member);
}

/// A label or an annotation, whichever there is.
std::string label(const Json& pod, const char* name) {
  const Json& metadata = json_field(pod, "metadata");
  for (const char* where : {"labels", "annotations"}) {
    if (auto value = json_text(inner(metadata, where, name)); !value.empty()) return value;
    if (const auto number = json_number(inner(metadata, where, name)))
      return std::to_string(*number);
  }
  return {};
}

template <class Names>
std::string first_label(const Json& pod, const Names& names) {
  for (const char* name : names) {
    if (auto value = label(pod, name); !value.empty()) return value;
  }
  return {};
}

const Json& owner_of(const Json& pod) {
  static const Json none;
  const Json& owners = inner(pod, "metadata", "ownerReferences");
  if (!owners.is_array() || owners.empty()) return none;
  for (const Json& owner : owners) {
    if (json_boolean(json_field(owner, "controller"))) return owner;
  }
  return owners.front();
}

/// GPUs of the pod, by their limits.
std::int64_t gpus_of(const Json& pod) {
  std::int64_t count = 0;
  const Json& containers = inner(pod, "spec", "containers");
  if (!containers.is_array()) return count;
  for (const Json& container : containers) {
    const Json& limits = inner(container, "resources", "limits");
    for (const char* gpu : {"nvidia.com/gpu", "amd.com/gpu"})
      count += std::clamp<std::int64_t>(json_number(json_field(limits, gpu)).value_or(0), 0, 1024);
  }
  return count;
}

/// The variable RANK, which is that of the process if it has one GPU, else of the pod.
std::int32_t rank_of(const Json& pod) {
  const Json& containers = inner(pod, "spec", "containers");
  if (!containers.is_array() || gpus_of(pod) > 1) return -1;
  for (const Json& container : containers) {
    const Json& variables = json_field(container, "env");
    if (!variables.is_array()) continue;
    for (const Json& variable : variables) {
      if (json_text(json_field(variable, "name")) != "RANK") continue;
      const auto rank = json_number(json_field(variable, "value"));
      return rank && *rank >= 0 && *rank <= rank_max ? static_cast<std::int32_t>(*rank) : -1;
    }
  }
  return -1;
}

std::optional<ContainerEnd> end_of(const Json& status, const char* state) {
  const Json& terminated = inner(status, state, "terminated");
  if (!terminated.is_object()) return std::nullopt;
  ContainerEnd end;
  end.name = printable(json_text(json_field(status, "name")), 128);
  const auto code = json_number(json_field(terminated, "exitCode"));
  if (code && *code >= 0 && *code <= 255) end.exit_code = static_cast<std::int32_t>(*code);
  const auto signal = json_number(json_field(terminated, "signal")).value_or(0);
  if (signal > 0 && signal <= 64) end.signal = static_cast<std::int32_t>(signal);
  end.reason = printable(json_text(json_field(terminated, "reason")), 64);
  end.at = kubernetes_time(terminated, "finishedAt");
  return end;
}

bool failed(const ContainerEnd& end) {
  return end.signal != 0 || end.exit_code.value_or(0) != 0 || end.reason == "OOMKilled";
}

void add_remark(const std::string& reason, const std::string& message, KubernetesPod& pod) {
  constexpr std::size_t remarks_max = 32;
  if (reason.empty() || pod.remarks.size() >= remarks_max) return;
  pod.remarks.push_back({printable(reason, 128), printable(message, remark_bytes_max)});
}

/// The signal of a crash, as the kubelet says it or a shell's exit code does; 0 if it was none.
std::int32_t crash_of(const ContainerEnd& end) {
  const std::int32_t signal = end.signal != 0 ? end.signal : end.exit_code.value_or(0) - 128;
  const bool crash = signal == SIGILL || signal == SIGBUS || signal == SIGFPE || signal == SIGSEGV;
  return crash ? signal : 0;
}

void add_end_remark(const ContainerEnd& end, KubernetesPod& pod) {
  const std::string container = "container " + end.name;
  if (end.reason == "OOMKilled") add_remark(end.reason, container, pod);
  if (const std::int32_t signal = crash_of(end); signal != 0)
    add_remark("ContainerCrashed", container + " ended by signal " + std::to_string(signal), pod);
}

/// Containers that run when the pod was asked for, that ended, and that wait for something.
void read_containers(const Json& status, KubernetesPod& pod) {
  constexpr std::size_t containers_max = 64;
  const Json& statuses = json_field(status, "containerStatuses");
  if (!statuses.is_array()) return;
  for (const Json& container : statuses) {
    if (pod.ends.size() >= containers_max) return;
    for (const char* state : {"lastState", "state"}) {
      auto end = end_of(container, state);
      if (!end) continue;
      add_end_remark(*end, pod);
      pod.ends.push_back(std::move(*end));
    }
    const Json& waiting = inner(container, "state", "waiting");
    add_remark(json_text(json_field(waiting, "reason")), json_text(json_field(waiting, "message")),
               pod);
  }
}

AttemptState state_by_reason(std::string_view reason) {
  const auto found = std::find_if(states_by_reason.begin(), states_by_reason.end(),
                                  [&](const auto& entry) { return entry.first == reason; });
  return found == states_by_reason.end() ? AttemptState::failed : found->second;
}

/// Why somebody took the pod away, "" if nobody did.
std::string read_disruption(const Json& status, KubernetesPod& pod) {
  std::string disruption;
  const Json& conditions = json_field(status, "conditions");
  if (!conditions.is_array()) return disruption;
  for (const Json& condition : conditions) {
    const bool disrupted = json_text(json_field(condition, "type")) == "DisruptionTarget" &&
                           json_text(json_field(condition, "status")) == "True";
    if (!disrupted) continue;
    disruption = json_text(json_field(condition, "reason"));
    add_remark(disruption, json_text(json_field(condition, "message")), pod);
  }
  return disruption;
}

/// When its containers ended; of a pod whose containers nobody saw end, when it last changed.
Instant end_of_pod(const Json& status, const KubernetesPod& pod) {
  Instant end;
  for (const ContainerEnd& container : pod.ends) end = std::max(end, container.at);
  const Json& conditions = json_field(status, "conditions");
  if (known(end) || !conditions.is_array()) return end;
  for (const Json& condition : conditions)
    end = std::max(end, kubernetes_time(condition, "lastTransitionTime"));
  return end;
}

/// The pod's own reason says more than its disruption, and that more than its containers.
void read_state(const Json& status, KubernetesPod& pod) {
  const std::string phase = json_text(json_field(status, "phase"));
  const std::string reason = json_text(json_field(status, "reason"));
  add_remark(reason, json_text(json_field(status, "message")), pod);
  const std::string disruption = read_disruption(status, pod);
  if (phase == "Pending") pod.state = AttemptState::pending;
  if (phase == "Running" || phase == "Unknown") pod.state = AttemptState::running;
  if (phase == "Succeeded") pod.state = AttemptState::completed;
  if (phase == "Succeeded" || phase == "Failed") pod.ended = end_of_pod(status, pod);
  if (phase != "Failed") return;
  const auto killed = std::find_if(pod.ends.rbegin(), pod.ends.rend(), failed);
  pod.state = state_by_reason(reason);
  if (pod.state == AttemptState::failed) pod.state = state_by_reason(disruption);
  if (pod.state == AttemptState::failed && killed != pod.ends.rend())
    pod.state = state_by_reason(killed->reason);
  if (killed == pod.ends.rend()) return;
  pod.exit_code = killed->signal != 0 ? 128 + killed->signal : killed->exit_code;
}

}  // namespace

Instant kubernetes_time(const Json& object, const char* name) {
  const auto instant = parse_instant(json_text(json_field(object, name)));
  return instant && *instant > Instant{} ? *instant : Instant{};
}

std::optional<KubernetesPod> read_kubernetes_pod(const Json& object, std::uint64_t offset) {
  KubernetesPod pod;
  const Json& metadata = json_field(object, "metadata");
  const Json& owner = owner_of(object);
  const Json& status = json_field(object, "status");
  pod.name = json_text(json_field(metadata, "name"));
  if (contains(service_owners, json_text(json_field(owner, "kind")))) return std::nullopt;
  std::string job = first_label(object, job_labels);
  if (job.empty()) job = json_text(json_field(owner, "name"));
  if (job.empty()) job = pod.name;
  if (!valid_job_id(job) || !valid_job_id(pod.name)) return std::nullopt;
  pod.attempt.job = job;
  const auto restart = parse_number<std::uint32_t>(label(object, restart_label));
  pod.attempt.restart = restart.value_or(0);
  pod.told_restart = restart.has_value();
  pod.index = first_label(object, index_labels);
  if (!pod.index.empty()) pod.index = label(object, type_label) + "-" + pod.index;
  pod.rank = rank_of(object);
  pod.node = json_text(inner(object, "spec", "nodeName"));
  if (!valid_node_name(pod.node)) pod.node.clear();
  pod.created = kubernetes_time(metadata, "creationTimestamp");
  pod.started = kubernetes_time(status, "startTime");
  read_containers(status, pod);
  read_state(status, pod);
  pod.offset = offset;
  return pod;
}

std::string job_of_pod_name(std::string_view pod) {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";  // no word has them alone
  constexpr std::array<std::string_view, 7> roles = {"-worker", "-master",  "-launcher", "-chief",
                                                     "-ps",     "-replica", "-rjob"};
  const auto last = [&] {
    const auto dash = pod.rfind('-');
    return dash == std::string_view::npos || dash == 0 ? std::string_view() : pod.substr(dash + 1);
  };
  const auto is_random = [&](std::string_view part) {
    return part.find_first_not_of(letters) == std::string_view::npos;
  };
  if (last().size() == 5 && is_random(last())) {
    pod.remove_suffix(6);
    const auto hash = last();
    const bool of_replica_set = hash.size() >= 8 && hash.size() <= 10 && is_random(hash);
    if (of_replica_set && hash.find_first_of("2456789") != std::string_view::npos) return {};
  }
  constexpr int numbers_max = 2;  // a JobSet's job, and its pod
  for (int i = 0; i < numbers_max; ++i) {
    const auto number = last();
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) break;
    pod.remove_suffix(number.size() + 1);
  }
  for (const auto role : roles) {
    if (pod.size() > role.size() && pod.ends_with(role)) pod.remove_suffix(role.size());
  }
  return std::string(pod);
}

void number_restarts(std::vector<KubernetesPod>& pods) {
  std::map<std::pair<std::string, std::string>, std::vector<KubernetesPod*>> by_index;
  for (KubernetesPod& pod : pods) {
    if (!pod.index.empty() && !pod.told_restart)
      by_index[{pod.attempt.job, pod.index}].push_back(&pod);
  }
  for (auto& [index, same] : by_index) {
    std::stable_sort(same.begin(), same.end(), [](const auto* a, const auto* b) {
      return std::tie(a->created, a->started) < std::tie(b->created, b->started);
    });
    std::uint32_t next = 0;
    for (KubernetesPod* pod : same) pod->attempt.restart = next++;
  }
}

namespace {

/// Adds a pod to its run. `first_failure`: of the run so far.
void add_pod(const KubernetesPod& pod, const KubernetesPod*& first_failure, Attempt& attempt) {
  attempt.id = pod.attempt;
  if (!pod.node.empty()) attempt.nodes.push_back(pod.node);
  if (known(pod.started) && (!known(attempt.started_at) || pod.started < attempt.started_at))
    attempt.started_at = pod.started;
  if (pod.state == AttemptState::pending) return;
  const bool has_failed = ended(pod.state) && pod.state != AttemptState::completed;
  if (has_failed) {
    const bool earlier = first_failure == nullptr || !known(first_failure->ended) ||
                         (known(pod.ended) && pod.ended < first_failure->ended);
    if (!earlier) return;
    first_failure = &pod;
    attempt.state = pod.state;
    attempt.ended_at = pod.ended;
    attempt.exit_code = pod.exit_code;
  } else if (first_failure == nullptr) {
    // One that still runs keeps the run open; of those that are done the last one ends it.
    const bool open = pod.state == AttemptState::running || attempt.state == AttemptState::running;
    attempt.state = open ? AttemptState::running : AttemptState::completed;
    attempt.ended_at = open ? Instant{} : std::max(attempt.ended_at, pod.ended);
  }
}

}  // namespace

std::vector<KubernetesRun> runs_of(const std::vector<KubernetesPod>& pods) {
  struct Open {
    KubernetesRun run;
    const KubernetesPod* first_failure = nullptr;
  };
  std::map<AttemptId, Open> open;
  for (const KubernetesPod& pod : pods) {
    const auto [entry, fresh] = open.try_emplace(pod.attempt);
    if (fresh) entry->second.run.offset = pod.offset;
    add_pod(pod, entry->second.first_failure, entry->second.run.attempt);
  }
  std::vector<KubernetesRun> runs;
  for (auto& [id, entry] : open) {
    auto& nodes = entry.run.attempt.nodes;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    runs.push_back(std::move(entry.run));
  }
  return runs;
}

}  // namespace faultline
