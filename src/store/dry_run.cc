#include "store/dry_run.h"

#include <nlohmann/json.hpp>
#include <string>

#include "model/json.h"

namespace faultline {
namespace {

/// The retention of the store knows it, too.
std::string name_of(const DecisionId& decision) { return "dry_run." + decision; }

}  // namespace

bool wants_dry_run(const Decision& decision) {
  return decision.ruling == Ruling::ask || decision.reason == Reason::mode_observe;
}

Status put_dry_run(Store& store, const DecisionId& decision, const Outcome& outcome) {
  return store.put_value(name_of(decision), dump(to_json(outcome)));
}

Result<std::optional<Outcome>> dry_run_of(Store& store, const Decision& decision) {
  if (!wants_dry_run(decision)) return std::optional<Outcome>{};
  const auto text = store.value(name_of(decision.id));
  if (!text) return text.error();
  if (!*text) return std::optional<Outcome>{};
  const auto object = parse_json(**text);
  if (!object) return object.error();
  auto outcome = outcome_from_json(*object);
  if (!outcome) return outcome.error();
  return std::optional(std::move(outcome).value());
}

}  // namespace faultline
