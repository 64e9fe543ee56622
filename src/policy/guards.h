// The guards and their order. Private to policy. To add one: a function in guards.cc, a line in its
// list, a row in the table of guards_test.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/policy.h"
#include "policy/proposal.h"

namespace faultline {

struct GuardRuling {
  Ruling ruling = Ruling::hold;
  Reason reason = Reason::evidence_incomplete;
  std::string detail;
};

/// A guard stops a proposal, or lets it go on to the next (nullopt). Pure.
using Guard = std::optional<GuardRuling> (*)(const Proposal&, const PolicyInput&);

struct NamedGuard {
  std::string_view name;
  Guard guard;
};

/// THE list, safest first. Nothing else rules.
std::span<const NamedGuard> guards();

}  // namespace faultline
