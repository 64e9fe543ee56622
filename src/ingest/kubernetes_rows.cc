#include "ingest/kubernetes_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/contains.h"
#include "base/text.h"
#include "base/time.h"
#include "ingest/kubernetes_pods.h"
#include "ingest/kubernetes_table.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

/// The cells of one row by their titles.
class Row {
 public:
  Row(const KubernetesTable& table, std::vector<std::string_view> cells)
      : table_(table), cells_(std::move(cells)) {}
  std::string operator[](std::string_view title) const {
    return std::string(table_.cell(cells_, title));
  }

 private:
  const KubernetesTable& table_;
  std::vector<std::string_view> cells_;
};

KubernetesRows rows_of(const KubernetesTable& table) {
  if (table.has("reason") && table.has("message") && (table.has("type") || table.has("object")))
    return KubernetesRows::events;
  if (!table.has("name") || !table.has("status")) return KubernetesRows::none;
  if (table.has("ready") && table.has("restarts")) return KubernetesRows::pods;
  const bool node = table.has("version") && (table.has("roles") || table.has("age"));
  return node ? KubernetesRows::nodes : KubernetesRows::none;
}

bool is_heading(std::string_view line) {
  return std::none_of(line.begin(), line.end(),
                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

/// "Ready", "NotReady,SchedulingDisabled"; a title of people's own ("<unknown>") is no state.
std::optional<Json> node_of(const Row& row) {
  const auto words = row["status"];
  const auto states = split(words, ',');
  const bool ready = contains(states, std::string_view("Ready"));
  const bool not_ready = contains(states, std::string_view("NotReady")) ||
                         contains(states, std::string_view("Unknown"));
  if (ready == not_ready) return std::nullopt;
  return Json{
      {"kind", "Node"},
      {"metadata", {{"name", row["name"]}}},
      {"spec", {{"unschedulable", contains(states, std::string_view("SchedulingDisabled"))}}},
      {"status",
       {{"conditions", Json::array({{{"type", "Ready"},
                                     {"status", ready ? "True" : "False"},
                                     {"reason", ready ? "KubeletReady" : "NodeNotReady"},
                                     {"message", "STATUS " + words}}})}}}};
}

/// Those whose pods run as long as they can, and no job's.
bool is_service(const Row& row) {
  constexpr std::array<std::string_view, 3> spaces = {"gpu-operator", "network-operator",
                                                      "monitoring"};
  constexpr std::array<std::string_view, 5> words = {"daemonset", "-plugin", "-exporter",
                                                     "kube-proxy", "csi-"};
  const std::string space = row["namespace"];
  const std::string name = row["name"];
  if (space.starts_with("kube-") || space.ends_with("-system") ||
      contains(spaces, std::string_view(space)))
    return true;
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// What kubectl shows in place of the phase.
struct Shown {
  std::string_view status;
  std::string_view phase;
};
constexpr auto phases = std::to_array<Shown>({{"Running", "Running"},
                                              {"NotReady", "Running"},
                                              {"Terminating", "Running"},
                                              {"Unknown", "Running"},
                                              {"CrashLoopBackOff", "Running"},
                                              {"Completed", "Succeeded"},
                                              {"Succeeded", "Succeeded"},
                                              {"Pending", "Pending"},
                                              {"SchedulingGated", "Pending"},
                                              {"ContainerCreating", "Pending"},
                                              {"PodInitializing", "Pending"},
                                              {"ImagePullBackOff", "Pending"},
                                              {"ErrImagePull", "Pending"},
                                              {"ErrImageNeverPull", "Pending"},
                                              {"InvalidImageName", "Pending"},
                                              {"CreateContainerConfigError", "Pending"},
                                              {"CreateContainerError", "Pending"},
                                              {"RunContainerError", "Pending"}});

/// "Init:0/1" and whatever else is not known waits; all other words are how the pod failed.
Json status_of(std::string_view status) {
  const bool init = status.starts_with("Init:");
  if (init) status.remove_prefix(5);
  const bool counts = !status.empty() && status.front() >= '0' && status.front() <= '9';
  if (counts || status.empty()) return {{"phase", "Pending"}};
  const auto* const shown = std::find_if(
      phases.begin(), phases.end(), [&](const Shown& entry) { return entry.status == status; });
  if (shown == phases.end() && init) return {{"phase", "Pending"}};
  if (shown == phases.end()) return {{"phase", "Failed"}, {"reason", std::string(status)}};
  Json told = {{"phase", std::string(shown->phase)}};
  const bool waits = status.ends_with("Error") || status.ends_with("BackOff") ||
                     status.find("Image") != std::string_view::npos;
  if (waits) {
    told["containerStatuses"] =
        Json::array({{{"name", "?"}, {"state", {{"waiting", {{"reason", std::string(status)}}}}}}});
  }
  return told;
}

std::optional<Json> pod_of(const Row& row) {
  const std::string name = row["name"];
  const std::string job = job_of_pod_name(name);
  if (job.empty() || is_service(row)) return std::nullopt;
  return Json{
      {"kind", "Pod"},
      {"metadata",
       {{"name", name}, {"ownerReferences", Json::array({{{"kind", "Job"}, {"name", job}}})}}},
      {"spec", {{"nodeName", row["node"]}, {"containers", Json::array()}}},
      {"status", status_of(row["status"])}};
}

/// "pod/train-7"; once the kind and the name had columns of their own.
std::optional<Json> event_of(const Row& row) {
  std::string object = row["object"];
  if (object.empty()) object = row["kind"] + "/" + row["name"];
  const auto slash = object.find('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  std::string kind = to_lower(object.substr(0, slash));
  if (kind == "node") kind = "Node";
  const std::string source = row["source"];
  const auto comma = source.find(", ");
  Json event = {{"kind", "Event"},
                {"involvedObject", {{"kind", kind}, {"name", object.substr(slash + 1)}}},
                {"type", row["type"]},
                {"reason", row["reason"]},
                {"message", row["message"]}};
  if (comma != std::string::npos) event["source"] = {{"host", source.substr(comma + 2)}};
  // Ages say nothing without the time at which they were asked for.
  for (const char* seen : {"last seen", "first seen"}) {
    const std::string at = row[seen];
    if (parse_instant(at)) event[seen[0] == 'l' ? "lastTimestamp" : "firstTimestamp"] = at;
  }
  return event;
}

std::optional<Json> object_of(KubernetesRows kind, const Row& row) {
  switch (kind) {
    case KubernetesRows::nodes: return node_of(row);
    case KubernetesRows::pods: return pod_of(row);
    case KubernetesRows::events: return event_of(row);
    case KubernetesRows::none: break;
  }
  return std::nullopt;
}

/// "1/2".
bool is_share(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && parse_number<int>(text.substr(0, slash)) &&
         parse_number<int>(text.substr(slash + 1));
}

bool is_row(KubernetesRows kind, const Row& row) {
  const std::string type = row["type"];
  switch (kind) {
    case KubernetesRows::nodes: return node_of(row).has_value();
    case KubernetesRows::pods: return is_share(row["ready"]);
    case KubernetesRows::events: return type == "Normal" || type == "Warning";
    case KubernetesRows::none: break;
  }
  return false;
}

}  // namespace

bool are_kubernetes_rows(std::span<const std::string_view> lines) {
  if (lines.empty() || rows_below(lines.front()) == KubernetesRows::none) return false;
  std::optional<KubernetesTable> table;
  KubernetesRows kind = KubernetesRows::none;
  std::size_t known_lines = 0;
  for (const std::string_view line : lines) {
    const KubernetesRows below = rows_below(line);
    if (below != KubernetesRows::none) {
      kind = below;
      table = KubernetesTable::of(line);
      ++known_lines;
    } else if (auto cells = table->cells(line); cells) {
      known_lines += is_row(kind, Row(*table, std::move(*cells))) ? 1 : 0;
    }
  }
  return known_lines * 5 >= lines.size() * 4;
}

KubernetesRows rows_below(std::string_view heading) {
  if (!is_heading(heading)) return KubernetesRows::none;
  const auto table = KubernetesTable::of(heading);
  return table ? rows_of(*table) : KubernetesRows::none;
}

void visit_kubernetes_rows(std::string_view text, const TakeKubernetesObject& take) {
  std::optional<KubernetesTable> table;
  KubernetesRows kind = KubernetesRows::none;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const KubernetesRows below = rows_below(line); below != KubernetesRows::none) {
      kind = below;
      table = KubernetesTable::of(line);
    } else if (table) {
      if (auto cells = table->cells(line)) {
        if (const auto object = object_of(kind, Row(*table, std::move(*cells)))) take(*object, at);
      }
    }
    at = end + 1;
  }
}

}  // namespace faultline
