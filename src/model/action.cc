#include "model/action.h"

#include "base/hash.h"

namespace faultline {

DecisionId make_decision_id(const VerdictId& verdict, ActionKind kind, const Subject& subject) {
  return "d-" + StableHash().add(verdict).add(to_text(kind)).add(subject.text()).hex();
}

ActionId make_action_id(const DecisionId& decision) {
  return "a-" + StableHash().add("action").add(decision).hex();
}

bool reason_is_ours(std::string_view reason) { return reason.starts_with("faultline:"); }

}  // namespace faultline
