// JSON of the nouns: what the store keeps, what --json prints, what webhooks carry. Unknown keys
// are ignored on reading; a missing or wrong key is an error that names it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/action.h"
#include "model/attempt.h"
#include "model/cause.h"
#include "model/cluster_view.h"
#include "model/event.h"
#include "model/incident.h"
#include "model/node_state.h"
#include "model/verdict.h"

namespace faultline {

nlohmann::json to_json(const Event& event);
nlohmann::json to_json(const Verdict& verdict);
nlohmann::json to_json(const Action& action);
nlohmann::json to_json(const Decision& decision);
nlohmann::json to_json(const Outcome& outcome);
nlohmann::json to_json(const Attempt& attempt);
nlohmann::json to_json(const NodeState& state);
nlohmann::json to_json(const Incident& incident);
nlohmann::json to_json(const Cause& cause);
nlohmann::json to_json(const SchedulerNode& node);

Result<Event> event_from_json(const nlohmann::json& json);
Result<Verdict> verdict_from_json(const nlohmann::json& json);
Result<Action> action_from_json(const nlohmann::json& json);
Result<Decision> decision_from_json(const nlohmann::json& json);
Result<Outcome> outcome_from_json(const nlohmann::json& json);
Result<Attempt> attempt_from_json(const nlohmann::json& json);
Result<NodeState> node_state_from_json(const nlohmann::json& json);
Result<Incident> incident_from_json(const nlohmann::json& json);
Result<SchedulerNode> scheduler_node_from_json(const nlohmann::json& json);

/// Compact text; bytes that are not UTF-8 are replaced rather than refused.
std::string dump(const nlohmann::json& json);
/// corrupt if `text` is not JSON.
Result<nlohmann::json> parse_json(std::string_view text);

}  // namespace faultline
