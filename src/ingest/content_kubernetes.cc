// What kubectl prints for people: nothing but its own headings and what is set in below them. Words
// of a program among them make it a job's log.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/content_forms.h"

namespace faultline {
namespace {

/// Those that any object has, and those by which nodes, pods and jobs are known.
constexpr auto headings = std::to_array<std::string_view>({"API Version",
                                                           "Active Deadline Seconds",
                                                           "Addresses",
                                                           "Allocatable",
                                                           "Allocated resources",
                                                           "Annotations",
                                                           "Backoff Limit",
                                                           "Capacity",
                                                           "Completed At",
                                                           "Completed Indexes",
                                                           "Completion Mode",
                                                           "Completions",
                                                           "Conditions",
                                                           "Containers",
                                                           "Controlled By",
                                                           "Controllers",
                                                           "CreationTimestamp",
                                                           "Duration",
                                                           "Ephemeral Containers",
                                                           "Events",
                                                           "ExternalID",
                                                           "Failed Indexes",
                                                           "IP",
                                                           "IPs",
                                                           "Init Containers",
                                                           "Kind",
                                                           "Labels",
                                                           "Lease",
                                                           "Message",
                                                           "Metadata",
                                                           "Name",
                                                           "Namespace",
                                                           "Node",
                                                           "Node-Selectors",
                                                           "NominatedNodeName",
                                                           "Non-terminated Pods",
                                                           "Parallelism",
                                                           "Pod Template",
                                                           "PodCIDR",
                                                           "PodCIDRs",
                                                           "Pods Statuses",
                                                           "Priority",
                                                           "Priority Class Name",
                                                           "PriorityClassName",
                                                           "ProviderID",
                                                           "QoS Class",
                                                           "Readiness Gates",
                                                           "Reason",
                                                           "Roles",
                                                           "Runtime Class Name",
                                                           "SeccompProfile",
                                                           "Selector",
                                                           "Service Account",
                                                           "Spec",
                                                           "Start Time",
                                                           "Status",
                                                           "Suspend",
                                                           "System Info",
                                                           "Taints",
                                                           "Termination Grace Period",
                                                           "Tolerations",
                                                           "Topology Spread Constraints",
                                                           "Unschedulable",
                                                           "Volumes"});

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

bool is_heading(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const bool ends = colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\t';
  return ends && contains(headings, line.substr(0, colon));
}

}  // namespace

bool is_kubernetes_description(const ContentLines& lines) {
  constexpr std::size_t headings_min = 3;
  if (lines.empty() || !trim(lines[0]).starts_with("Name:")) return false;
  const std::size_t margin = indent_of(lines[0]);
  std::size_t heading_count = 0;
  std::size_t others = 0;
  for (const std::string_view line : lines) {
    const std::size_t indent = indent_of(line);
    if (indent > margin) continue;
    if (is_heading(line.substr(indent)))
      ++heading_count;
    else
      ++others;
  }
  return heading_count >= headings_min && others * 10 <= lines.size();
}

}  // namespace faultline
