#include "detect/collective_lines.h"

#include "base/text.h"

namespace faultline {

std::int64_t number_in(const JobLine& line, std::string_view field) {
  return parse_number<std::int64_t>(line.fact->event.field(field)).value_or(-1);
}

std::string group_of(const JobLine& line) {
  const std::string_view text = line.fact->event.raw.text;
  for (const std::string_view tag : {"PG GUID ", "PG ID ", "PG "}) {
    const auto at = text.find(tag);
    if (at == std::string_view::npos) continue;
    const std::string_view name = text.substr(at + tag.size());
    return std::string(name.substr(0, name.find_first_of("( ]")));
  }
  return {};
}

Explanation suspect_rank(std::int32_t rank, std::string_view cause, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause);
  const RankPlace* place = failure.attempt.place_of(rank);
  if (place != nullptr) explanation.node = place->node;
  if (explanation.node.empty()) {
    for (const JobLine& line : failure.lines) {
      if (line.rank == rank && !line.node.empty()) explanation.node = line.node;
    }
  }
  explanation.subject = Subject::of_rank(failure.attempt.id, rank, explanation.node);
  explanation.since = failure.onset;
  const std::string who =
      "rank " + std::to_string(rank) + (explanation.node.empty() ? "" : " on " + explanation.node);
  explanation.missing = {"stack or flight-recorder dump of " + who,
                         kernel_log_of(explanation.node, failure)};
  return explanation;
}

}  // namespace faultline
