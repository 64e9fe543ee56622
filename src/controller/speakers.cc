#include "controller/speakers.h"

#include <spdlog/spdlog.h>

#include <string_view>

#include "base/text.h"
#include "policy/words.h"

namespace faultline {
namespace {

constexpr std::size_t refused_agents_max = 65536;  // remembered; of more nothing is said
constexpr std::size_t shown_bytes_max = 80;

}  // namespace

bool Speakers::permitted(const std::string& node, const Event& event) const {
  if (event.reporter != node) return false;
  if (!concerns_node(event.subject) || event.subject.node == node) return true;
  // A job may name another node, the one that was lost: its words alone drain none.
  if (spoken_by_job(event.source)) return true;
  return event.source == EventSource::scheduler && event.kind == EventKind::log_signature &&
         scheduler_log_hosts_.contains(node);
}

bool Speakers::may_say(const std::string& node, const Event& event) {
  if (permitted(node, event)) return true;
  counters_.add("controller_foreign_events_total");
  const std::lock_guard lock(mutex_);
  if (refused_.size() >= refused_agents_max || !refused_.insert(node).second) return false;
  const std::string_view hint =
      event.source == EventSource::scheduler
          ? "; if it follows the scheduler's log, name it with --scheduler-log-host"
          : "";
  spdlog::warn(
      "the agent of {} spoke of {} (source {}): not heard, an agent speaks for its own "
      "node{}; said once for each agent, counted in controller_foreign_events_total",
      node, printable(event.subject.text(), shown_bytes_max), to_text(event.source), hint);
  return false;
}

}  // namespace faultline
