#include "apps/serve_status.h"

namespace faultline {

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

std::vector<Metric> ServeStatus::metrics() {
  const ControllerHealth state = controller_.health();
  std::vector<Metric> all = metrics_of(counters_.snapshot());
  for (const auto& [node, values] : controller_.agent_counters().by_node()) {
    for (auto& metric : metrics_of(values)) {
      if (!metric.name.starts_with("agent_")) metric.name = "agent_" + metric.name;
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
                         ? std::chrono::duration<double>(clock_.now() - state.view_taken_at).count()
                         : -1;
  gauge("scheduler_view_age_seconds",
        "Age of the last answer of the scheduler; -1 if there was none", age);
  return all;
}

}  // namespace faultline
