#include "apps/serve_status.h"

namespace faultline {
namespace {

/// A counter's name is all that it says of itself; whose it is, and since when, is worth a word.
std::string help_of(const Metric& metric, const std::string& whose) {
  const bool grows = metric.type == MetricType::counter;
  return "What " + whose + (grows ? " counts since its start: " : " says of now: ") + metric.help;
}

/// What an agent counts is an agent_... on the page. Where it has a counter of that name as well,
/// the prefix is said once more: two counters are never one series.
std::string name_of_agents(const std::string& name, const CounterValues& of_node) {
  if (name.starts_with("agent_")) return name;
  std::string shown = "agent_" + name;
  while (of_node.contains(shown)) shown.insert(0, "agent_");
  return shown;
}

}  // namespace

Health ServeStatus::health() {
  const ControllerHealth state = controller_.health();
  Health health;
  if (!state.scheduler_answers) {
    health.ok = false;
    health.reasons.push_back(
        "the scheduler does not answer; nothing is acted on: " +
        (state.scheduler_error.empty() ? "not asked yet" : state.scheduler_error));
  }
  if (!state.store_writable) {
    health.ok = false;
    health.reasons.push_back("the store cannot be written; nothing is acted on: " +
                             state.store_error);
  }
  if (!found_at_start_.empty()) health.reasons.push_back(found_at_start_);
  return health;
}

std::vector<Metric> status_metrics(const ControllerHealth& state, const CounterValues& own,
                                   const std::map<std::string, CounterValues>& agents,
                                   Instant now) {
  std::vector<Metric> all = metrics_of(own);
  for (auto& metric : all) metric.help = help_of(metric, "the controller");
  for (const auto& [node, values] : agents) {
    for (auto& metric : metrics_of(values)) {
      metric.help = help_of(metric, "the node's agent");
      metric.name = name_of_agents(metric.name, values);
      metric.samples.front().labels = {{"node", node}};
      all.push_back(std::move(metric));
    }
  }
  const auto gauge = [&](const char* name, const char* help, double value) {
    all.push_back({name, MetricType::gauge, help, {{{}, value}}});
  };
  gauge("scheduler_up", "1 if the scheduler answered the last question",
        state.scheduler_answers ? 1 : 0);
  gauge("store_up", "1 if the last write to the store succeeded", state.store_writable ? 1 : 0);
  gauge("agents", "Agents heard of lately", static_cast<double>(state.agents));
  gauge("inbox_events", "Events stored and not judged yet",
        static_cast<double>(state.inbox_events));
  const double age = known(state.view_taken_at)
                         ? std::chrono::duration<double>(now - state.view_taken_at).count()
                         : -1;
  gauge("scheduler_view_age_seconds",
        "Age of the last answer of the scheduler; -1 if there was none", age);
  return all;
}

std::vector<Metric> ServeStatus::metrics() {
  return status_metrics(controller_.health(), counters_.snapshot(),
                        controller_.agent_counters().by_node(), clock_.now());
}

}  // namespace faultline
