// Policy rules and limits out of TOML tables. docs/formats.md describes them.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"

namespace faultline {

/// Errors: invalid_argument, "file:line: what".
Result<PolicyRule> parse_policy_rule(const toml::table& table, const std::string& file);

/// Overwrites in `limits` what `table` sets and leaves the rest; serve.toml's own [limits] is read
/// with it, too. On an error `limits` is left as it was.
Status parse_policy_limits(const toml::table& table, const std::string& file, PolicyLimits& limits);

/// "cause gpu.fell_off_bus" or "remedy reset_gpu": what a rule is for. There is one rule for each.
std::string policy_rule_key(const PolicyRule& rule);

}  // namespace faultline
