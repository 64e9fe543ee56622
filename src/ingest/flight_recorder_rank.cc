#include "ingest/flight_recorder_rank.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

/// The ranks that are in every group: it is one of them. Empty if nothing is known.
std::vector<std::int32_t> common_ranks(const FlightRecorderDump& dump) {
  std::vector<std::int32_t> common;
  bool any = false;
  for (const RecorderGroup& group : dump.groups) {
    if (group.ranks.empty()) continue;
    std::vector<std::int32_t> ranks = group.ranks;
    std::sort(ranks.begin(), ranks.end());
    if (!any) {
      common = std::move(ranks);
    } else {
      std::erase_if(common, [&](std::int32_t rank) {
        return !std::binary_search(ranks.begin(), ranks.end(), rank);
      });
    }
    any = true;
  }
  return common;
}

/// What the names of its transfers say of the rank itself; nullopt if nothing, or two things.
std::optional<std::int32_t> transferring_rank(const FlightRecorderDump& dump) {
  std::optional<std::int32_t> found;
  for (const RecorderEntry& entry : dump.entries) {
    RecorderTransfer transfer;
    if (!entry.is_p2p || !parse_transfer(entry.profiling_name, transfer)) continue;
    const auto& ranks = dump.groups[entry.group].ranks;
    if (static_cast<std::size_t>(transfer.own) >= ranks.size()) continue;
    const std::int32_t rank = ranks[static_cast<std::size_t>(transfer.own)];
    if (found && *found != rank) return std::nullopt;
    found = rank;
  }
  return found;
}

}  // namespace

RecorderRank find_recorder_rank(const FlightRecorderDump& dump, std::int32_t named) {
  const std::vector<std::int32_t> common = common_ranks(dump);
  const auto possible = [&](std::int32_t rank) {
    return common.empty() || std::find(common.begin(), common.end(), rank) != common.end();
  };
  auto told = transferring_rank(dump);
  if (told && !possible(*told)) told.reset();
  if (common.size() == 1) told = common.front();
  if (told) return {*told, RecorderRank::By::contents, named >= 0 && named != *told};
  if (named < 0) return {};
  if (!possible(named)) return {-1, RecorderRank::By::nothing, true};
  return {named, RecorderRank::By::name, false};
}

bool parse_transfer(std::string_view profiling_name, RecorderTransfer& out) {
  const auto colon = profiling_name.find(':');
  std::string_view name = profiling_name.substr(colon == std::string_view::npos ? 0 : colon + 1);
  out.is_send = name.starts_with("send ");
  if (!out.is_send && !name.starts_with("recv ")) return false;
  name.remove_prefix(5);
  const auto arrow = name.find(out.is_send ? "->" : "<-");
  if (arrow == std::string_view::npos) return false;
  const auto own = parse_number<std::int32_t>(name.substr(0, arrow));
  const auto peer = parse_number<std::int32_t>(name.substr(arrow + 2));
  if (!own || !peer || *own < 0 || *peer < 0) return false;
  out.own = *own;
  out.peer = *peer;
  return true;
}

}  // namespace faultline
