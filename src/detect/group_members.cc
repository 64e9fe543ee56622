#include "detect/group_members.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "detect/collective_lines.h"

namespace faultline {
namespace {

constexpr std::int32_t place_max = 65536;
constexpr std::size_t heard_per_missing_min = 3;

struct ProcessGroup {
  std::string kind;                              // "dp"; "" if it is not told
  std::map<std::int32_t, std::int32_t> rank_at;  // by place in the group
  bool contradicts = false;                      // two ranks at one place
};

/// What stands in the brackets that name the group; "" if nothing does.
std::string_view group_words(const JobLine& line) {
  const std::string_view text = line.fact->event.raw.text;
  const auto at = text.find("PG GUID ");
  if (at == std::string_view::npos) return {};
  const std::string_view words = text.substr(at);
  return words.substr(0, words.find(']'));
}

std::map<std::string, ProcessGroup> groups_of(const FailureCase& failure) {
  std::map<std::string, ProcessGroup> groups;
  for (const JobLine& line : failure.lines) {
    const std::string_view words = group_words(line);
    const auto at = words.rfind("Rank ");
    if (line.rank < 0 || at == std::string_view::npos) continue;
    const auto place = parse_number<std::int32_t>(words.substr(at + 5));
    if (!place || *place < 0 || *place > place_max) continue;
    ProcessGroup& group = groups[group_of(line)];
    const auto name = words.find('('), end = words.find(')');
    if (name < end && end != std::string_view::npos)
      group.kind = words.substr(name + 1, end - name - 1);
    const auto [member, fresh] = group.rank_at.emplace(*place, line.rank);
    group.contradicts = group.contradicts || (!fresh && member->second != line.rank);
  }
  return groups;
}

/// From one place to the next; nullopt if the members that are known are not evenly spaced.
std::optional<std::int32_t> spacing(const ProcessGroup& group) {
  if (group.contradicts || group.rank_at.size() < 2) return std::nullopt;
  const auto [first, first_rank] = *group.rank_at.begin();
  const auto [last, last_rank] = *group.rank_at.rbegin();
  const std::int32_t step = (last_rank - first_rank) / (last - first);
  for (const auto& [place, rank] : group.rank_at) {
    if (rank != first_rank + (place - first) * step) return std::nullopt;
  }
  return step > 0 ? std::optional(step) : std::nullopt;
}

}  // namespace

std::map<std::string, std::set<std::int32_t>> missing_members(const FailureCase& failure) {
  const auto groups = groups_of(failure);
  std::map<std::string, std::int32_t> size_of_kind;
  for (const auto& [name, group] : groups) {
    std::int32_t& size = size_of_kind[group.kind.empty() ? name : group.kind];
    size = std::max(size, group.rank_at.rbegin()->first + 1);
  }
  std::map<std::string, std::set<std::int32_t>> missing;
  for (const auto& [name, group] : groups) {
    const auto step = spacing(group);
    if (!step) continue;
    const auto [first, first_rank] = *group.rank_at.begin();
    std::set<std::int32_t> gaps;
    for (std::int32_t place = 0; place < size_of_kind[group.kind.empty() ? name : group.kind];
         ++place) {
      const std::int32_t rank = first_rank + (place - first) * *step;
      if (!group.rank_at.contains(place) && rank >= 0) gaps.insert(rank);
    }
    // Where more are not heard than a few, it is their output that is not here.
    if (!gaps.empty() && gaps.size() * heard_per_missing_min <= group.rank_at.size())
      missing.emplace(name, std::move(gaps));
  }
  return missing;
}

}  // namespace faultline
