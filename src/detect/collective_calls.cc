#include "detect/collective_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/collective_lines.h"
#include "detect/confidence.h"

namespace faultline {
namespace {

/// What a rank says of the collective in which it timed out.
struct Call {
  const JobLine* line = nullptr;
  std::string op;
  std::string sizes;  // "1024 elements in, 1024 out"; "" where ranks may differ in them
};

std::string_view number_behind(std::string_view name, std::string_view text) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return {};
  const auto digits = text.substr(at + name.size());
  return digits.substr(0, digits.find_first_not_of("0123456789"));
}

/// nullopt of transfers, which have two ends, and of batches.
std::optional<Call> call_of(const JobLine& line) {
  constexpr auto not_alike = std::to_array<std::string_view>({"SEND", "RECV", "COALESCED"});
  constexpr auto even = std::to_array<std::string_view>(
      {"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "BARRIER"});
  Call call{&line, std::string(line.fact->event.field("op")), {}};
  const auto begins = [&](std::string_view op) { return call.op.starts_with(op); };
  if (call.op.empty() || std::any_of(not_alike.begin(), not_alike.end(), begins))
    return std::nullopt;
  const std::string_view text = line.fact->event.raw.text;
  const auto in = number_behind("NumelIn=", text), out = number_behind("NumelOut=", text);
  if (contains(even, call.op) && !in.empty() && !out.empty())
    call.sizes = std::string(in) + " elements in, " + std::string(out) + " out";
  return call;
}

/// The calls by which the ranks of one group met in one collective, by what was called.
using Meeting = std::map<std::string, std::map<std::int32_t, Call>>;

/// The name that a group has on all its ranks; the number alone counts the groups of one rank, and
/// only 0 is the same group everywhere. "" if the line names none.
std::string global_group_of(const JobLine& line) {
  const std::string_view text = line.fact->event.raw.text;
  constexpr std::string_view tag = "PG GUID ";
  const auto at = text.find(tag);
  if (at == std::string_view::npos) return group_of(line) == "0" ? "0" : "";
  const std::string_view name = text.substr(at + tag.size());
  return std::string(name.substr(0, name.find_first_of("( ]")));
}

/// By group and number. A line that names no group is of the one in which its rank, as it says
/// elsewhere, waits for a collective of this number; "" where it does not say.
std::map<std::pair<std::string, std::int64_t>, Meeting> meetings(const FailureCase& failure) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::set<std::string>> named;
  for (const JobLine& line : failure.lines) {
    if (line.cause->id == cause_id::collective_timeout && !group_of(line).empty())
      named[{line.rank, number_in(line, "seq")}].insert(global_group_of(line));
  }
  std::map<std::pair<std::string, std::int64_t>, Meeting> all;
  for (const JobLine& line : failure.lines) {
    const std::int64_t seq = number_in(line, "seq");
    if (line.signature->id != collective_timeout_signature || line.rank < 0 || seq < 0) continue;
    const auto call = call_of(line);
    if (!call) continue;
    std::set<std::string> groups{global_group_of(line)};
    if (group_of(line).empty() && named.contains({line.rank, seq}))
      groups = named[{line.rank, seq}];
    const bool certain = groups.size() == 1 && (!groups.contains("") || named.empty());
    if (certain)
      all[{*groups.begin(), seq}][call->op + " " + call->sizes].emplace(line.rank, *call);
  }
  return all;
}

std::string words_of(const Call& call, const Call& other) {
  return call.op != other.op ? call.op : call.op + " with " + call.sizes;
}

}  // namespace

std::optional<Explanation> different_calls(const FailureCase& failure) {
  for (const auto& [where, meeting] : meetings(failure)) {
    if (meeting.size() < 2) continue;
    const auto& [group, seq] = where;
    const auto usual = std::max_element(
        meeting.begin(), meeting.end(),
        [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
    std::vector<const Call*> odd;
    std::vector<std::string> names;
    for (const auto& [what, calls] : meeting) {
      if (what == usual->first) continue;
      for (const auto& [rank, call] : calls) {
        odd.push_back(&call);
        names.push_back(std::to_string(rank));
      }
    }
    const bool told = odd.size() <= named_suspects_max && usual->second.size() >= 3 * odd.size();
    // Where no line names its group, they may be of two.
    if (group.empty() && (!told || odd.size() > 1)) continue;
    const Call& first = *odd.front();
    const Call& others = usual->second.begin()->second;
    Explanation explanation =
        suspect_rank(first.line->rank, cause_id::collective_mismatch, failure);
    if (!told || odd.size() > 1) {
      explanation.subject = Subject::of_attempt(failure.attempt.id);
      explanation.node.clear();
    }
    explanation.confidence = !told           ? confidence::even
                             : group.empty() ? confidence::fair
                                             : confidence::likely;
    const std::string collective = "collective " + std::to_string(seq);
    explanation.text = told ? (odd.size() == 1 ? "Rank " : "Ranks ") + join(names, ", ") +
                                  " called " + words_of(first, others) + " as " + collective +
                                  ", the others " + words_of(others, first) + "."
                            : "The ranks called different things as " + collective + ", as " +
                                  words_of(first, others) + " and " + words_of(others, first) +
                                  "; who is right cannot be told.";
    explanation.missing = {"flight-recorder dumps of all ranks: they name the line of the program"};
    explanation.evidence = {&first.line->fact->event};
    return explanation;
  }
  return std::nullopt;
}

}  // namespace faultline
