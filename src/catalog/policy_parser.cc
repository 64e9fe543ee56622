#include "catalog/policy_parser.h"

#include "catalog/toml_reader.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t count_max = 1'000'000;  // more nodes or acts than any site has

void read_count(TableReader& reader, std::string_view key, int& value) {
  value = static_cast<int>(reader.integer_or(key, value, 0, count_max));
}

}  // namespace

Result<PolicyRule> parse_policy_rule(const toml::table& table, const std::string& file) {
  TableReader reader(table, file);
  PolicyRule rule;
  rule.cause = reader.text_or("cause", "");
  if (reader.has("remedy")) rule.remedy = reader.word<Remedy>("remedy");
  rule.actions = reader.words<ActionKind>("actions");
  if (rule.cause.empty() == !rule.remedy.has_value()) {
    reader.fail("cause", "a rule is for either a 'cause' or a 'remedy'");
  }
  for (std::size_t i = 0; i < rule.actions.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (rule.actions[i] == rule.actions[j]) reader.fail("actions", "an action stands twice");
    }
    if (rule.actions[i] == ActionKind::return_node) {
      reader.fail("actions", "'return_node' is never proposed by a rule: it undoes a drain");
    }
  }
  FAULTLINE_TRY(reader.finish());
  return rule;
}

Status parse_policy_limits(const toml::table& table, const std::string& file,
                           PolicyLimits& limits) {
  TableReader reader(table, file);
  PolicyLimits read = limits;
  read.verdict_age_max = reader.duration_or("verdict_age_max_s", read.verdict_age_max, seconds{1});
  read.view_age_max = reader.duration_or("view_age_max_s", read.view_age_max, seconds{1});
  read.lateness = reader.duration_or("lateness_ms", read.lateness, milliseconds{1});
  read.repeat_window = reader.duration_or("repeat_window_s", read.repeat_window, seconds{1});
  read.same_cause_window =
      reader.duration_or("same_cause_window_s", read.same_cause_window, seconds{1});
  read.words_test_interval_min =
      reader.duration_or("words_test_interval_min_s", read.words_test_interval_min, seconds{1});
  read_count(reader, "drains_per_hour_max", read.drains_per_hour_max);
  read_count(reader, "drained_at_once_max", read.drained_at_once_max);
  read_count(reader, "requeues_per_job_per_hour_max", read.requeues_per_job_per_hour_max);
  read_count(reader, "same_cause_nodes_max", read.same_cause_nodes_max);
  read.drained_share_max = reader.number_or("drained_share_max", read.drained_share_max, 0, 1);
  read.available_share_min =
      reader.number_or("available_share_min", read.available_share_min, 0, 1);
  read.words_confidence_min =
      reader.number_or("words_confidence_min", read.words_confidence_min, 0, 1);
  if (reader.has("approval_needed"))
    read.approval_needed = reader.words<ActionKind>("approval_needed");
  FAULTLINE_TRY(reader.finish());
  limits = read;
  return ok_status();
}

std::string policy_rule_key(const PolicyRule& rule) {
  return rule.remedy ? "remedy " + std::string(to_text(*rule.remedy)) : "cause " + rule.cause;
}

}  // namespace faultline
