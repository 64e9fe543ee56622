// Rules about those who are left: who lost the rendezvous or its connections says by that who is
// gone.
#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/collective_lines.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

/// Who prints that it lost the rendezvous: "HOST_PID_INDEX" in the line, or else where the line
/// comes from.
std::string survivor_of(const JobLine& line, const FailureCase& failure) {
  std::string_view agent = line.fact->event.field("reporter");
  for (int part = 0; part < 2; ++part)
    agent = agent.substr(0, std::min(agent.rfind('_'), agent.size()));
  if (const std::string* node = failure.attempt.node_called(agent)) return *node;
  return agent.empty() ? line.node : std::string(agent);
}

}  // namespace

std::optional<Explanation> rule_rendezvous_lost(const FailureCase& failure) {
  std::vector<const JobLine*> lost;
  std::set<std::string> reporters;
  for (const JobLine& line : failure.lines) {
    // Who was told to end leaves the rendezvous, and that is what the others see.
    if (lost.empty() && line.cause->id == cause_id::terminated) return std::nullopt;
    if (line.cause->id != cause_id::rendezvous_lost) continue;
    lost.push_back(&line);
    reporters.insert(survivor_of(line, failure));
  }
  if (lost.empty()) return std::nullopt;
  reporters.erase("");
  std::vector<std::string> others;
  for (const std::string& node : failure.attempt.nodes) {
    if (!reporters.contains(node)) others.push_back(node);
  }
  Explanation explanation = explanation_from(*lost.front(), cause_id::node_lost, failure);
  for (const JobLine* line : lost) explanation.evidence.push_back(&line->fact->event);
  explanation.hardware = true;
  const bool one_left = others.size() == 1 && !reporters.empty();
  explanation.node = one_left ? others.front() : "";
  explanation.subject =
      one_left ? Subject::of_node(others.front()) : Subject::of_attempt(failure.attempt.id);
  explanation.confidence = one_left ? confidence::even : confidence::weak;
  explanation.text = "A survivor lost contact to the rendezvous, so a node other than " +
                     (reporters.empty() ? std::string("the reporter") : join(reporters, ", ")) +
                     " went away.";
  explanation.missing = {"the scheduler's state of the other nodes of " + attempt_words(failure)};
  return explanation;
}

std::optional<Explanation> rule_peers_lost(const FailureCase& failure) {
  if (auto named = peer_named_by_all(failure)) return named;
  std::set<std::int32_t> survivors;
  const JobLine* first = nullptr;
  for (const JobLine& line : failure.lines) {
    if (line.cause->id != cause_id::peer_lost || line.rank < 0) continue;
    survivors.insert(line.rank);
    if (first == nullptr) first = &line;
  }
  std::vector<std::int32_t> gone;
  for (const std::int32_t rank : failure.attempt.world()) {
    if (!survivors.contains(rank)) gone.push_back(rank);
  }
  if (first == nullptr || gone.size() != 1 || survivors.size() < 2) return std::nullopt;
  Explanation explanation = suspect_rank(gone.front(), cause_id::insufficient_evidence, failure);
  explanation.unknown = true;
  explanation.since = first->fact->at;
  explanation.confidence = confidence::weak;
  for (const JobLine& line : failure.lines) explanation.evidence.push_back(&line.fact->event);
  explanation.text = "Rank " + std::to_string(gone.front()) +
                     " went first: all the others lost their connection, and it never said so.";
  return explanation;
}

}  // namespace faultline
