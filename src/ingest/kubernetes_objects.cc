#include "ingest/kubernetes_objects.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/json_elements.h"
#include "ingest/json_values.h"
#include "ingest/kubernetes_describe.h"
#include "ingest/kubernetes_pods.h"
#include "ingest/kubernetes_rows.h"
#include "ingest/scheduler_events.h"
#include "ingest/scheduler_remarks.h"
#include "ingest/yaml_records.h"
#include "model/names.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

constexpr std::size_t message_bytes_max = 1024;

const Json& inner(const Json& object, const char* name, const char* member) {
  return json_field(json_field(object, name), member);
}

/// The members of a kind's list do not say their kind again.
std::string kind_of(const Json& object) {
  if (auto kind = json_text(json_field(object, "kind")); !kind.empty()) return kind;
  if (object.contains("involvedObject") || object.contains("regarding")) return "Event";
  if (inner(object, "spec", "containers").is_array()) return "Pod";
  return inner(object, "status", "nodeInfo").is_object() ? "Node" : "";
}

/// As `kubectl get events` shows it, from its second column on. All but the message are one word,
/// so that nobody's reason can pretend to be about another object.
std::string event_line(std::string_view type, std::string_view reason, std::string_view object,
                       std::string_view message) {
  std::string line;
  for (const auto part : {type, reason, object})
    line += printable(part.substr(0, part.find_first_of(" \t\r\n")), 256) + "   ";
  return line + one_line(message);
}

struct Condition {
  std::string type, status, reason, message;
  Instant since;

  [[nodiscard]] bool bad() const {
    // "EtcdIsVoter" is what some distributions add to every node of the control plane.
    constexpr std::array<std::string_view, 4> good = {"Ready", "Healthy", "Available", "IsVoter"};
    const bool true_is_good = std::any_of(
        good.begin(), good.end(), [&](std::string_view word) { return type.ends_with(word); });
    if (type == "Ready") return status != "True";
    return status == (true_is_good ? "False" : "True");
  }
};

std::vector<Condition> conditions_of(const Json& node) {
  constexpr std::size_t conditions_max = 64;
  std::vector<Condition> conditions;
  const Json& list = inner(node, "status", "conditions");
  if (!list.is_array()) return conditions;
  for (const Json& entry : list) {
    if (conditions.size() >= conditions_max) break;
    conditions.push_back({printable(json_text(json_field(entry, "type")), 64),
                          json_text(json_field(entry, "status")),
                          printable(json_text(json_field(entry, "reason")), 64),
                          printable(json_text(json_field(entry, "message")), message_bytes_max),
                          kubernetes_time(entry, "lastTransitionTime")});
  }
  return conditions;
}

/// An event whose pod may still come.
struct HeldEvent {
  std::string type, reason, kind, name, message, host;
  std::vector<Instant> times;
  std::uint64_t offset = 0;
};

std::optional<HeldEvent> read_event(const Json& object, std::uint64_t offset) {
  const char* about = object.contains("regarding") ? "regarding" : "involvedObject";
  HeldEvent event;
  event.kind = json_text(inner(object, about, "kind"));
  event.name = json_text(inner(object, about, "name"));
  event.type = json_text(json_field(object, "type"));
  event.reason = json_text(json_field(object, "reason"));
  for (const char* name : {"message", "note"}) {
    if (event.message.empty()) event.message = json_text(json_field(object, name));
  }
  for (const char* name : {"source", "deprecatedSource"}) {
    if (event.host.empty()) event.host = json_text(inner(object, name, "host"));
  }
  if (event.host.empty()) event.host = json_text(json_field(object, "reportingInstance"));
  // Of an event that came again and again the first and the last time are known.
  for (const char* name : {"firstTimestamp", "deprecatedFirstTimestamp", "eventTime",
                           "lastTimestamp", "deprecatedLastTimestamp"}) {
    if (const Instant at = kubernetes_time(object, name); known(at)) event.times.push_back(at);
  }
  if (const Instant at = kubernetes_time(json_field(object, "series"), "lastObservedTime");
      known(at))
    event.times.push_back(at);
  if (event.times.empty())
    event.times.push_back(kubernetes_time(json_field(object, "metadata"), "creationTimestamp"));
  std::sort(event.times.begin(), event.times.end());
  event.times.erase(std::unique(event.times.begin(), event.times.end()), event.times.end());
  if (event.times.size() > 2) event.times.erase(event.times.begin() + 1, event.times.end() - 1);
  event.offset = offset;
  const bool valid = event.kind == "Node" ? valid_node_name(event.name) : valid_job_id(event.name);
  if (event.kind.empty() || !valid) return std::nullopt;
  return event;
}

/// Whether whoever wrote the objects could have told whose a pod is.
enum class Owners { told, left_out };

/// Of whose pod nothing else was told.
std::string job_of(const HeldEvent& event, Owners owners) {
  if (owners == Owners::told || to_lower(event.kind) != "pod") return event.name;
  std::string job = job_of_pod_name(event.name);
  return job.empty() ? event.name : job;
}

class KubernetesObjects {
 public:
  KubernetesObjects(const Origin& origin, Counters& counters,
                    std::shared_ptr<const SignatureDatabase> signatures,
                    Owners owners = Owners::told)
      : origin_(origin),
        counters_(counters),
        remarks_(std::move(signatures), origin, counters),
        owners_(owners) {}

  void take(const Json& object, std::uint64_t offset) {
    const std::string kind = kind_of(object);
    if (kind == "Node") {
      count(take_node(object, offset));
    } else if (kind == "Pod") {
      count(take_pod(object, offset));
    } else if (kind == "Event") {
      auto event = read_event(object, offset);
      count(event.has_value());
      if (event) held_.push_back(std::move(*event));
    } else {
      count(false);
    }
  }

  [[nodiscard]] std::size_t objects() const { return objects_; }

  std::vector<Event> events() {
    number_restarts(pods_);
    for (const KubernetesPod& pod : pods_) attempt_of_pod_.emplace(pod.name, pod.attempt);
    for (const KubernetesRun& run : runs_of(pods_)) give_run(run);
    for (const KubernetesPod& pod : pods_) give_pod(pod);
    for (const HeldEvent& event : held_) give_event(event);
    return std::move(events_);
  }

 private:
  void count(bool taken) {
    if (taken)
      ++objects_;
    else
      counters_.add("kubernetes_objects_left_out_total");
  }

  RawLine raw_of(std::uint64_t offset, std::string_view line) const {
    return {origin_.path, offset, {}, one_line(line)};
  }

  void give(Event event) { events_.push_back(std::move(event)); }

  void remark(const std::string& line, const Event& record) {
    auto found = remarks_.of(line, record);
    std::move(found.begin(), found.end(), std::back_inserter(events_));
  }

  bool take_node(const Json& object, std::uint64_t offset) {
    SchedulerNode node;
    node.name = json_text(inner(object, "metadata", "name"));
    if (!valid_node_name(node.name)) return false;
    node.drained = json_boolean(inner(object, "spec", "unschedulable"));
    node.state_text = "NotReady";
    std::vector<std::string> types;
    std::vector<std::string> reasons;
    Instant since;
    for (const Condition& condition : conditions_of(object)) {
      const bool ready = condition.type == "Ready";
      if (ready && !condition.bad()) node.state_text = "Ready";
      if (ready || condition.bad()) since = std::max(since, condition.since);
      if (!condition.bad()) continue;
      types.push_back(condition.type);
      reasons.push_back((ready ? "" : condition.type + " ") + condition.reason + ": " +
                        condition.message);
    }
    node.down = node.state_text != "Ready";
    node.available = !node.down && !node.drained && types.empty();
    if (node.drained) node.state_text += ",SchedulingDisabled";
    node.drain_reason = printable(join(reasons, "; "), 500);
    Event seen = node_event(node, false, since);
    if (!types.empty()) seen.fields.emplace("conditions", printable(join(types, ","), 512));
    seen = as_told(std::move(seen), raw_of(offset, "node/" + node.name + "   " + node.state_text +
                                                       "   " + node.drain_reason));
    give_conditions(object, seen);
    return true;
  }

  void give_conditions(const Json& object, const Event& seen) {
    give(seen);
    for (const Condition& condition : conditions_of(object)) {
      if (!condition.bad()) continue;
      const bool ready = condition.type == "Ready";
      const std::string line = event_line(
          "Warning", ready ? condition.reason : condition.type, "node/" + seen.subject.node,
          ready ? condition.message : condition.reason + ": " + condition.message);
      Event record = seen;
      record.observed_at = condition.since;
      remark(line, as_told(std::move(record), raw_of(seen.raw.offset, line)));
    }
  }

  bool take_pod(const Json& object, std::uint64_t offset) {
    auto pod = read_kubernetes_pod(object, offset);
    if (!pod) {
      counters_.add("kubernetes_service_pods_total");
      return true;
    }
    pods_.push_back(std::move(*pod));
    return true;
  }

  void give_run(const KubernetesRun& run) {
    const Attempt& attempt = run.attempt;
    const bool ran = known(attempt.started_at) || ended(attempt.state);
    if (!ran) return;
    const RawLine raw =
        raw_of(run.offset, "job " + attempt.id.job + "   " + std::string(to_text(attempt.state)));
    give(as_told(attempt_event(EventKind::attempt_started, attempt, {}), raw));
    if (ended(attempt.state))
      give(as_told(attempt_event(EventKind::attempt_ended, attempt, {}), raw));
  }

  void give_pod(const KubernetesPod& pod) {
    Event record;
    record.source = EventSource::scheduler;
    record.subject = pod.rank >= 0 ? Subject::of_rank(pod.attempt, pod.rank, pod.node)
                                   : Subject::of_attempt(pod.attempt);
    record.attempt = pod.attempt;
    for (const ContainerEnd& end : pod.ends) give_exit(pod, end, record);
    record.observed_at = pod.ended;
    record.subject.node = pod.node;
    for (const PodRemark& told : pod.remarks) {
      const std::string line = event_line("Warning", told.reason, "pod/" + pod.name, told.message);
      remark(line, as_told(record, raw_of(pod.offset, line)));
    }
  }

  void give_exit(const KubernetesPod& pod, const ContainerEnd& end, const Event& record) {
    Event event = record;
    event.kind = EventKind::rank_exited;
    event.observed_at = end.at;
    event.fields = {{"pod", pod.name}, {"container", end.name}, {"host", pod.node}};
    if (!end.reason.empty()) event.fields.emplace("reason", end.reason);
    std::string how = "signal " + std::to_string(end.signal);
    if (end.signal != 0) {
      event.fields.emplace("signal", std::to_string(end.signal));
    } else if (end.exit_code) {
      event.fields.emplace("exit_code", std::to_string(*end.exit_code));
      how = "exit code " + std::to_string(*end.exit_code);
    }
    const std::string line = "pod/" + pod.name + "   container " + end.name + "   " + end.reason +
                             "   " + how + "   " + pod.node;
    give(as_told(std::move(event), raw_of(pod.offset, line)));
  }

  void give_event(const HeldEvent& held) {
    const std::string line =
        event_line(held.type, held.reason, to_lower(held.kind) + "/" + held.name, held.message);
    Event record;
    record.source = EventSource::scheduler;
    if (held.kind == "Node") {
      record.subject = Subject::of_node(held.name);
    } else {
      const auto pod = attempt_of_pod_.find(held.name);
      record.attempt = pod == attempt_of_pod_.end() ? AttemptId{job_of(held, owners_), 0}
                                                    : AttemptId{pod->second};
      record.subject = Subject::of_attempt(*record.attempt);
      if (valid_node_name(held.host)) record.subject.node = held.host;
    }
    for (const Instant at : held.times) {
      record.observed_at = at;
      const Event told = as_told(record, raw_of(held.offset, line));
      if (record.subject.kind == SubjectKind::node) give_readiness(held.reason, told);
      remark(line, told);
    }
  }

  /// The node controller says when a node went and when it came back.
  void give_readiness(std::string_view reason, const Event& told) {
    if (reason != "NodeNotReady" && reason != "NodeReady") return;
    SchedulerNode node;
    node.name = told.subject.node;
    node.available = reason == "NodeReady";
    node.down = !node.available;
    node.state_text = node.down ? "NotReady" : "Ready";
    give(as_told(node_event(node, false, told.observed_at), told.raw));
  }

  const Origin& origin_;
  Counters& counters_;
  SchedulerRemarks remarks_;
  Owners owners_;
  std::size_t objects_ = 0;
  std::vector<KubernetesPod> pods_;
  std::vector<HeldEvent> held_;
  std::map<std::string, AttemptId, std::less<>> attempt_of_pod_;
  std::vector<Event> events_;
};

Result<std::vector<Event>> finish(KubernetesObjects& objects) {
  if (objects.objects() == 0) {
    return Error{ErrorCode::corrupt,
                 "no node, pod or event of Kubernetes; run: kubectl get nodes,pods,events -o json"};
  }
  return objects.events();
}

}  // namespace

Result<std::vector<Event>> decode_kubernetes_json(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  KubernetesObjects objects(origin, counters, std::move(signatures));
  const auto counts = visit_json_elements(
      document, "items", [&](const Json& object, std::uint64_t offset, std::string_view /*bytes*/) {
        objects.take(object, offset);
      });
  counters.add("kubernetes_objects_left_out_total", counts.left_out);
  if (counts.cut) counters.add("scheduler_documents_cut_total");
  return finish(objects);
}

Result<std::vector<Event>> decode_kubernetes_yaml(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  KubernetesObjects objects(origin, counters, std::move(signatures));
  const Status read = visit_yaml_records(
      document, "items",
      [&](const Json& object, std::uint64_t offset) { objects.take(object, offset); });
  if (!read.ok()) {
    // What came before the damage counts; a document that is refused says why.
    const bool cut = read.error().code == ErrorCode::corrupt && objects.objects() > 0;
    if (!cut) return read.error();
    counters.add("scheduler_documents_cut_total");
  }
  return finish(objects);
}

Result<std::vector<Event>> decode_kubernetes_text(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  KubernetesObjects objects(origin, counters, std::move(signatures), Owners::left_out);
  const auto take = [&](const Json& object, std::uint64_t offset) { objects.take(object, offset); };
  visit_described_objects(text, take);
  visit_kubernetes_rows(text, take);
  return finish(objects);
}

}  // namespace faultline
