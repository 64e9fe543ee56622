// What the traces of the ranks say of a hang: flight-recorder dumps and their like. They are read
// for the rank that waits for nobody; that a program's ranks come apart says nothing against a
// node.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/empty_traces.h"
#include "detect/failure_case.h"
#include "detect/operation_match.h"
#include "detect/stuck_operation.h"

namespace faultline {
namespace {

constexpr std::size_t named_ranks_max = 4;  // more than this is no longer a suspicion of anybody
constexpr std::size_t listed_ranks_max = 16;

std::string rank_list(const std::vector<std::int32_t>& ranks) {
  std::vector<std::string> names;
  for (const std::int32_t rank : ranks) {
    if (names.size() == listed_ranks_max) break;
    names.push_back(std::to_string(rank));
  }
  const std::size_t more = ranks.size() - names.size();
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ") +
         (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  return text;
}

/// "all_reduce 11 of group default_pg", "recv 3 from rank 5 of group pipeline".
std::string operation_text(const RankOperation& operation, const FailureCase& failure) {
  const std::string group(operation.event->field("group"));
  const ProcessGroup* known = failure.operations.group(group);
  const bool described = known != nullptr && !known->desc.empty() && known->desc != "undefined";
  return operation_name(operation) + " of group " + group +
         (described ? " (" + known->desc + ")" : "");
}

std::string node_of_rank(std::int32_t rank, const FailureCase& failure) {
  if (const RankPlace* place = failure.attempt.place_of(rank)) return place->node;
  const RankTrace* trace = failure.operations.trace(rank);
  if (trace != nullptr && trace->read != nullptr && !trace->read->subject.node.empty())
    return trace->read->subject.node;
  for (const JobLine& line : failure.lines) {
    if (line.rank == rank && !line.node.empty()) return line.node;
  }
  return {};
}

void set_subject(Explanation& explanation, const std::vector<std::int32_t>& ranks,
                 const FailureCase& failure) {
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  if (ranks.size() != 1) return;
  explanation.node = node_of_rank(ranks.front(), failure);
  explanation.subject = Subject::of_rank(failure.attempt.id, ranks.front(), explanation.node);
}

/// Where the first of the culprits stopped.
std::string last_line_text(const StuckFinding& finding, const FailureCase& failure) {
  const std::string whose =
      finding.ranks.size() == 1 ? "it" : "rank " + std::to_string(finding.ranks.front());
  if (finding.last.event == nullptr) return capitalised(whose) + " has handed in nothing at all.";
  const std::string_view frame = finding.last.event->field("frame");
  return "The last that " + whose + " handed in is " + operation_text(finding.last, failure) +
         " (" + std::string(finding.last.event->field("state")) + ")" +
         (frame.empty() ? "." : ", from " + std::string(frame) + ".");
}

std::string stack_of(std::int32_t rank, const FailureCase& failure) {
  const std::string node = node_of_rank(rank, failure);
  return "the stack of rank " + std::to_string(rank) + (node.empty() ? "" : " on " + node) +
         " while it hangs (py-spy dump)";
}

Explanation explain_mismatch(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_mismatch);
  const bool sided = finding.ranks.size() <= named_ranks_max;
  set_subject(explanation, finding.ranks, failure);
  explanation.confidence = sided ? confidence::strong : confidence::likely;
  const bool transfer = finding.operation.event->field("lane") != "collective";
  const std::string_view met = finding.others ? " met the others in " : " met in ";
  const std::string_view with = transfer         ? " with different data: "
                                : finding.others ? " with something else: "
                                                 : " with different things: ";
  explanation.text = capitalised(rank_list(finding.ranks)) + std::string(met) +
                     operation_text(finding.operation, failure) + std::string(with) +
                     finding.differs + ".";
  const std::string_view frame = finding.last.event->field("frame");
  if (!frame.empty()) explanation.text += " It was called from " + std::string(frame) + ".";
  return explanation;
}

Explanation explain_not_joined(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_desync);
  set_subject(explanation, finding.ranks, failure);
  const bool one = finding.ranks.size() == 1;
  explanation.confidence = one                                       ? confidence::likely
                           : finding.ranks.size() <= named_ranks_max ? confidence::even
                                                                     : confidence::hint;
  if (!finding.unread.empty()) explanation.confidence = confidence::even;
  explanation.text = capitalised(rank_list(finding.ranks)) + " never entered " +
                     operation_text(finding.operation, failure) + "; " +
                     std::to_string(finding.waiting) +
                     (finding.waiting == 1 ? " other waits for " : " others wait for ") +
                     (one ? "it, and it waits" : "them, and they wait") + " for nobody. " +
                     last_line_text(finding, failure);
  explanation.missing = {stack_of(finding.ranks.front(), failure),
                         kernel_log_of(explanation.node, failure)};
  return explanation;
}

/// Everybody in a group who left no trace or one that says nothing, waited for or not.
std::vector<std::int32_t> untraced(const FailureCase& failure) {
  std::set<std::int32_t> ranks = ranks_with_lost_record(failure.operations);
  for (const auto& [name, group] : failure.operations.groups()) {
    for (const std::int32_t rank : group.ranks) {
      if (failure.operations.trace(rank) == nullptr) ranks.insert(rank);
    }
  }
  return {ranks.begin(), ranks.end()};
}

Explanation explain_no_trace(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_timeout);
  std::vector<std::int32_t> empty;
  for (const std::int32_t rank : finding.unread) {
    if (failure.operations.trace(rank) != nullptr) empty.push_back(rank);
  }
  set_subject(explanation, empty.empty() ? finding.ranks : std::vector<std::int32_t>{}, failure);
  // An empty trace was written by a rank that lived, and that may have come as far as the others.
  explanation.unknown = !empty.empty() || finding.unread.size() > named_ranks_max;
  explanation.confidence =
      finding.unread.size() == 1 && empty.empty() ? confidence::even : confidence::hint;
  explanation.text = "Everybody whose trace was read waits, in the end, for " +
                     rank_list(finding.unread) + ", of which " +
                     (empty.empty() ? "there is none" : "none says anything") + ", in " +
                     operation_text(finding.operation, failure) + ".";
  if (!empty.empty())
    explanation.text += " The trace of " + rank_list(empty) +
                        " has no operation in it, though more was handed in: it "
                        "was not kept, and tells nothing.";
  explanation.missing = {"traces and output of " + rank_list(untraced(failure)),
                         kernel_log_of(explanation.node, failure)};
  return explanation;
}

Explanation explain_deadlock(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_desync);
  set_subject(explanation, finding.ranks, failure);
  const bool one = finding.ranks.size() == 1;
  explanation.confidence = one ? confidence::even : confidence::fair;
  explanation.text = capitalised(rank_list(finding.ranks));
  if (one) {
    explanation.text += " stopped first of a circle of ranks that wait for each other. " +
                        last_line_text(finding, failure);
  } else {
    explanation.text +=
        " wait for each other in a circle: they call their operations in different "
        "order, or a peer by a wrong number. Rank " +
        std::to_string(finding.operation.rank) + " waits in " +
        operation_text(finding.operation, failure);
    if (finding.last.event != nullptr)
      explanation.text += ", and rank " + std::to_string(finding.last.rank) +
                          ", which is not there, in " + operation_text(finding.last, failure);
    explanation.text += ".";
  }
  explanation.missing = {stack_of(finding.ranks.front(), failure)};
  return explanation;
}

Explanation explain_wrong_order(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_desync);
  set_subject(explanation, finding.ranks, failure);
  explanation.confidence = finding.ranks.size() == 1 ? confidence::likely : confidence::even;
  explanation.text = capitalised(rank_list(finding.ranks)) + " came to " +
                     operation_text(finding.last, failure) + " without " +
                     operation_text(finding.operation, failure) +
                     ", in which others wait; the others do that first. The call is left out, or "
                     "the two are in the wrong order.";
  const std::string_view frame = finding.last.event->field("frame");
  if (!frame.empty()) explanation.text += " It came there from " + std::string(frame) + ".";
  return explanation;
}

Explanation explain_wrong_peer(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_desync);
  set_subject(explanation, finding.ranks, failure);
  explanation.confidence = confidence::fair;
  const LaneKey lane{"", std::string(finding.last.event->field("lane"))};
  const std::string peer = std::to_string(peer_of(lane));
  explanation.text = capitalised(rank_list(finding.ranks)) + " waits in " +
                     operation_text(finding.last, failure) + ", and rank " + peer +
                     " never had such a transfer with it; meanwhile rank " +
                     std::to_string(finding.operation.rank) + " waits for it in " +
                     operation_text(finding.operation, failure) + ". It calls the wrong peer.";
  const std::string_view frame = finding.last.event->field("frame");
  if (!frame.empty()) explanation.text += " It came there from " + std::string(frame) + ".";
  return explanation;
}

Explanation explain_moving(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_timeout);
  set_subject(explanation, {}, failure);
  explanation.unknown = true;
  explanation.confidence = confidence::hint;
  explanation.text =
      "The traces were written while the job was moving: that a rank was not yet at " +
      operation_text(finding.operation, failure) + " says nothing.";
  explanation.missing = {"traces that were written when the job had stood still for a minute"};
  return explanation;
}

bool members_known(const RankOperation& operation, const FailureCase& failure) {
  const ProcessGroup* group =
      failure.operations.group(std::string(operation.event->field("group")));
  return group != nullptr && !group->ranks.empty();
}

/// What to ask for where nobody says who is in a group: by their numbers some are not here.
std::string traces_not_here(const FailureCase& failure) {
  std::vector<std::int32_t> gaps;
  std::int32_t next = 0;
  for (const auto& [rank, trace] : failure.operations.traces()) {
    for (; next < rank && gaps.size() <= named_ranks_max; ++next) gaps.push_back(next);
    next = rank + 1;
  }
  return gaps.empty() || gaps.size() > named_ranks_max
             ? "the traces of its other members, if there are any"
             : "the traces of " + rank_list(gaps) + ", which are not here";
}

Explanation explain_inside(const StuckFinding& finding, const FailureCase& failure) {
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause_id::collective_timeout);
  const bool named = !finding.ranks.empty() && finding.ranks.size() <= named_ranks_max;
  set_subject(explanation, named ? finding.ranks : std::vector<std::int32_t>{}, failure);
  explanation.unknown = !named;
  explanation.confidence = named ? confidence::even : confidence::hint;
  const bool all = members_known(finding.operation, failure);
  explanation.text =
      (all ? "All members have entered " : "All whose traces are here have entered ") +
      operation_text(finding.operation, failure) + ", and it does not end";
  explanation.text +=
      finding.first_lost
          ? ". The traces do not reach back to anything that is done: what hangs first may be lost."
          : ": the transfer itself hangs, or a GPU does.";
  if (named)
    explanation.text += " " + capitalised(rank_list(finding.ranks)) +
                        " did not begin it on the GPU while the others did.";
  explanation.missing = {"kernel logs and port states of the nodes of its members",
                         "NCCL's own log (NCCL_DEBUG=INFO) or its RAS report"};
  if (!all) explanation.missing.insert(explanation.missing.begin(), traces_not_here(failure));
  if (finding.first_lost)
    explanation.missing.insert(explanation.missing.begin(),
                               "traces with more operations (TORCH_FR_BUFFER_SIZE), those that are "
                               "done among them");
  return explanation;
}

/// Ranks that printed that a collective of theirs timed out.
std::set<std::int32_t> said_waiting(const FailureCase& failure) {
  std::set<std::int32_t> ranks;
  for (const JobLine& line : failure.lines) {
    if (line.rank >= 0 && line.signature->id == collective_timeout_signature)
      ranks.insert(line.rank);
  }
  return ranks;
}

Explanation explain_finding(const StuckFinding& finding, const FailureCase& failure) {
  switch (finding.kind) {
    case StuckKind::mismatch: return explain_mismatch(finding, failure);
    case StuckKind::not_joined: return explain_not_joined(finding, failure);
    case StuckKind::no_trace: return explain_no_trace(finding, failure);
    case StuckKind::wrong_order: return explain_wrong_order(finding, failure);
    case StuckKind::wrong_peer: return explain_wrong_peer(finding, failure);
    case StuckKind::deadlock: return explain_deadlock(finding, failure);
    case StuckKind::moving: return explain_moving(finding, failure);
    case StuckKind::inside: break;
  }
  return explain_inside(finding, failure);
}

}  // namespace

std::optional<Explanation> rule_stuck_operation(const FailureCase& failure) {
  const auto finding = find_stuck_operation(failure.operations, said_waiting(failure));
  if (!finding) return std::nullopt;
  Explanation explanation = explain_finding(*finding, failure);
  if (!finding->unread.empty() && finding->kind != StuckKind::no_trace)
    explanation.missing.push_back("traces and output of " + rank_list(untraced(failure)));
  explanation.since = finding->operation.event->observed_at;
  if (!known(explanation.since)) explanation.since = failure.onset;
  explanation.evidence = finding->evidence;
  for (const JobLine& line : failure.lines) {
    if (is_communication_trouble(line)) explanation.evidence.push_back(&line.fact->event);
  }
  return explanation;
}

}  // namespace faultline
