#include "ingest/kubernetes_describe.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "ingest/kubernetes_table.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

/// "    Last State:     Terminated": what is set in deeper below it belongs to it.
struct Line {
  std::string_view raw;
  std::string_view text;   // without blanks around
  std::string_view key;    // "Last State", "" if there is none
  std::string_view value;  // "Terminated"
  std::size_t indent = 0;
  std::size_t end = 0;  // of those that belong to it
  std::uint64_t offset = 0;
};
using Lines = std::vector<Line>;

void split_key(Line& line) {
  const auto colon = line.text.find(':');
  if (colon == std::string_view::npos) return;
  const bool ends =
      colon + 1 == line.text.size() || line.text[colon + 1] == ' ' || line.text[colon + 1] == '\t';
  if (!ends) return;
  line.key = line.text.substr(0, colon);
  line.value = trim(line.text.substr(colon + 1));
  if (line.value == "<none>" || line.value == "<unset>" || line.value == "<unknown>")
    line.value = {};
}

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Line line;
    line.raw = text.substr(at, end - at);
    if (line.raw.ends_with('\r')) line.raw.remove_suffix(1);
    line.text = trim(line.raw);
    line.offset = at;
    at = end + 1;
    if (line.text.empty()) continue;
    line.indent = line.raw.find_first_not_of(" \t");
    split_key(line);
    lines.push_back(line);
  }
  return lines;
}

/// Where it was pasted with a margin, the first name shows how wide that is.
void remove_margin(Lines& lines) {
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const Line& line) { return line.key == "Name"; });
  const std::size_t margin = first == lines.end() ? 0 : first->indent;
  for (Line& line : lines) line.indent = line.indent > margin ? line.indent - margin : 0;
}

void find_ends(Lines& lines) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i <= lines.size(); ++i) {
    while (!open.empty() && (i == lines.size() || lines[open.back()].indent >= lines[i].indent)) {
      lines[open.back()].end = i;
      open.pop_back();
    }
    open.push_back(i);
  }
}

/// A stretch of lines: an object, or what belongs to one of its lines.
struct Part {
  const Lines* lines = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;

  /// The uppermost lines of it.
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = begin; i < end; i = (*lines)[i].end) take((*lines)[i], below(i));
  }
  [[nodiscard]] Part below(std::size_t line) const {
    return {lines, line + 1, std::min((*lines)[line].end, end)};
  }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view key) const {
    for (std::size_t i = begin; i < end; i = (*lines)[i].end) {
      if ((*lines)[i].key == key) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto line = find(key);
    return line ? std::string((*lines)[*line].value) : std::string();
  }
  [[nodiscard]] Part part(std::string_view key) const {
    const auto line = find(key);
    return line ? below(*line) : Part{lines, end, end};
  }
};

/// The entries of a list whose first one stands beside its key: "Labels:  a=b".
std::vector<std::string_view> entries_of(const Part& object, std::string_view key) {
  std::vector<std::string_view> entries;
  const auto line = object.find(key);
  if (!line) return entries;
  entries.push_back((*object.lines)[*line].value);
  object.below(*line).each([&](const Line& entry, const Part&) { entries.push_back(entry.text); });
  return entries;
}

/// Labels are "key=value", and so were annotations once, which are "key: value" now.
Json pairs_of(const Part& object, std::string_view key) {
  Json pairs = Json::object();
  for (const auto entry : entries_of(object, key)) {
    const auto mark = std::min(entry.find('='), entry.find(": "));
    if (mark == std::string_view::npos) continue;
    pairs[std::string(entry.substr(0, mark))] = std::string(trim(entry.substr(mark + 1)));
  }
  return pairs;
}

/// "nvidia.com/gpu:  8".
Json values_of(const Part& part) {
  Json values = Json::object();
  part.each([&](const Line& line, const Part&) {
    if (!line.key.empty()) values[std::string(line.key)] = std::string(line.value);
  });
  return values;
}

/// Calls take(cells, table, line) with each row of the table below a key.
template <class Take>
void each_row(const Part& object, std::string_view key, Take take) {
  const Part part = object.part(key);
  if (part.begin >= part.end) return;
  const auto table = KubernetesTable::of((*part.lines)[part.begin].raw);
  if (!table) return;
  for (std::size_t i = part.begin + 1; i < part.end; ++i) {
    const Line& line = (*part.lines)[i];
    if (line.text.starts_with("---")) continue;
    if (const auto cells = table->cells(line.raw)) take(*cells, *table, line);
  }
}

/// "State: Terminated" and what is below it, as the API has it.
Json container_state(const Part& container, std::string_view key) {
  const std::string state = to_lower(container.text(key));
  const Part told = container.part(key);
  if (state != "terminated" && state != "waiting") return Json::object();
  Json inner = {{"reason", told.text("Reason")}, {"message", told.text("Message")}};
  if (const auto code = parse_number<std::int32_t>(told.text("Exit Code")))
    inner["exitCode"] = *code;
  if (const auto signal = parse_number<std::int32_t>(told.text("Signal")))
    inner["signal"] = *signal;
  inner["finishedAt"] = described_time(told.text("Finished"));
  return {{state, inner}};
}

void add_containers(const Part& object, std::string_view key, Json& specs, Json& statuses) {
  object.part(key).each([&](const Line& line, const Part& container) {
    const std::string name(line.key);
    if (name.empty()) return;
    Json variables = Json::array();
    container.part("Environment").each([&](const Line& variable, const Part&) {
      variables.push_back(
          {{"name", std::string(variable.key)}, {"value", std::string(variable.value)}});
    });
    specs.push_back({{"name", name},
                     {"env", variables},
                     {"resources", {{"limits", values_of(container.part("Limits"))}}}});
    statuses.push_back({{"name", name},
                        {"state", container_state(container, "State")},
                        {"lastState", container_state(container, "Last State")}});
  });
}

/// "gke-a3-n9/10.0.0.9".
std::string node_name(std::string_view text) { return std::string(text.substr(0, text.find('/'))); }

/// "Job/train-worker".
Json owners_of(const Part& object) {
  const std::string owner = object.text("Controlled By");
  const auto slash = owner.find('/');
  if (slash == std::string::npos) return Json::array();
  return Json::array({{{"kind", owner.substr(0, slash)},
                       {"name", owner.substr(slash + 1)},
                       {"controller", true}}});
}

/// One that is taken away says for how long already instead: it runs until it is gone.
std::string phase_of(const Part& object) {
  const std::string status = object.text("Status");
  return status.starts_with("Terminating") ? "Running" : status;
}

Json conditions_of(const Part& object) {
  Json conditions = Json::array();
  each_row(object, "Conditions", [&](const auto& cells, const KubernetesTable& table, const Line&) {
    const auto cell = [&](std::string_view title) { return std::string(table.cell(cells, title)); };
    conditions.push_back({{"type", cell("type")},
                          {"status", cell("status")},
                          {"reason", cell("reason")},
                          {"message", cell("message")},
                          {"lastTransitionTime", described_time(cell("lasttransitiontime"))}});
  });
  return conditions;
}

Json pod_of(const Part& object) {
  Json specs = Json::array();
  Json statuses = Json::array();
  for (const std::string_view key : {"Init Containers", "Containers"})
    add_containers(object, key, specs, statuses);
  const std::string start = described_time(object.text("Start Time"));
  return {{"kind", "Pod"},
          {"metadata",
           {{"name", object.text("Name")},
            {"labels", pairs_of(object, "Labels")},
            {"annotations", pairs_of(object, "Annotations")},
            {"creationTimestamp", start},
            {"ownerReferences", owners_of(object)}}},
          {"spec", {{"nodeName", node_name(object.text("Node"))}, {"containers", specs}}},
          {"status",
           {{"phase", phase_of(object)},
            {"reason", object.text("Reason")},
            {"message", object.text("Message")},
            {"startTime", start},
            {"conditions", conditions_of(object)},
            {"containerStatuses", statuses}}}};
}

Json node_of(const Part& object) {
  return {{"kind", "Node"},
          {"metadata", {{"name", object.text("Name")}}},
          {"spec", {{"unschedulable", object.text("Unschedulable")}}},
          {"status",
           {{"conditions", conditions_of(object)},
            {"capacity", values_of(object.part("Capacity"))},
            {"allocatable", values_of(object.part("Allocatable"))}}}};
}

/// "kubelet, gpu-7", and once "{kubelet gpu-7}".
std::string host_of(std::string_view from) {
  const auto gap = from.find_last_of(" ,");
  if (gap == std::string_view::npos) return {};
  from.remove_prefix(gap + 1);
  if (from.ends_with('}')) from.remove_suffix(1);
  return std::string(from);
}

void visit_events(const Part& object, const Json& about, const TakeKubernetesObject& take) {
  const std::string pods_node = node_name(object.text("Node"));
  each_row(object, "Events",
           [&](const auto& cells, const KubernetesTable& table, const Line& line) {
             const auto cell = [&](std::string_view title) {
               return std::string(table.cell(cells, title));
             };
             const std::string from = cell("from");
             std::string host = host_of(from);
             if (host.empty() && from.starts_with("kubelet")) host = pods_node;
             take({{"kind", "Event"},
                   {"involvedObject", about},
                   {"type", cell("type")},
                   {"reason", cell("reason")},
                   {"message", cell("message")},
                   {"source", {{"host", host}}}},
                  line.offset);
           });
}

bool has_any(const Part& object, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return object.find(key).has_value(); });
}

void visit_object(const Part& object, const TakeKubernetesObject& take) {
  const std::uint64_t offset = (*object.lines)[object.begin].offset;
  std::string kind = object.text("Kind");
  if (kind.empty() && has_any(object, {"Unschedulable", "Capacity", "Taints"})) {
    kind = "Node";
    take(node_of(object), offset);
  } else if (kind.empty() && has_any(object, {"Node", "Containers", "QoS Class"})) {
    kind = "Pod";
    take(pod_of(object), offset);
  }
  // What other object it is, only those say that were defined later than kubectl.
  if (kind.empty()) kind = "Job";
  visit_events(object, {{"kind", kind}, {"name", object.text("Name")}}, take);
}

}  // namespace

std::string described_time(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  // "Wed, 25 Nov 2026 10:00:00 +0000"
  if (text.size() != 31 || text[3] != ',') return {};
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  if (month == months.end()) return {};
  const auto number = std::to_string(month - months.begin() + 1);
  std::string time(text.substr(12, 4));
  time += (number.size() == 1 ? "-0" : "-") + number + "-" + std::string(text.substr(5, 2));
  time += "T" + std::string(text.substr(17, 8)) + std::string(text.substr(26, 3)) + ":";
  return time + std::string(text.substr(29, 2));
}

void visit_described_objects(std::string_view text, const TakeKubernetesObject& take) {
  Lines lines = lines_of(text);
  remove_margin(lines);
  find_ends(lines);
  std::optional<std::size_t> begin;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].indent != 0 || lines[i].key != "Name") continue;
    if (begin) visit_object({&lines, *begin, i}, take);
    begin = i;
  }
  if (begin) visit_object({&lines, *begin, lines.size()}, take);
}

}  // namespace faultline
