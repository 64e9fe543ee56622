#include "diagnose/last_steps.h"

#include <algorithm>

#include "detect/failure_case.h"
#include "model/attempt.h"

namespace faultline {
namespace {

bool tells_of_order(const Event& event, const Catalog& catalog) {
  if (event.kind == EventKind::attempt_ended) {
    const auto state = parse_enum<AttemptState>(event.field("state"));
    return state && is_order(*state);
  }
  const auto line = unplaced_line(event, catalog);
  return line && is_order(*line);
}

}  // namespace

void drop_idle_steps(std::vector<Event>& events, const Catalog& catalog) {
  const bool ordered = std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return tells_of_order(event, catalog);
  });
  if (ordered) return;
  std::erase_if(events, [](const Event& event) { return !event.field(last_step_field).empty(); });
}

}  // namespace faultline
