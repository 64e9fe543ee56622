#include "detect/operation_match.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace faultline {
namespace {

/// What must be the same on all ranks of one collective.
struct Meaning {
  std::string op, dtype;
  std::int64_t in = -1, out = -1;

  auto operator<=>(const Meaning&) const = default;
};

/// Collectives whose members may bring different amounts.
bool uneven(std::string_view op) {
  return op.starts_with("all_to_all") || op.starts_with("alltoall") || op.starts_with("ALLTOALL");
}

Meaning meaning_of(const Event& event) {
  Meaning meaning;
  meaning.op = event.field("op");
  if (meaning.op == "coalesced") return meaning;  // a batch of anything, recorded as one
  meaning.dtype = event.field("in_dtypes");
  if (uneven(meaning.op)) return meaning;
  // The root alone has the whole of these.
  const bool rooted_out =
      meaning.op.find("gather") != std::string::npos && meaning.op.find("all") == std::string::npos;
  const bool rooted_in = meaning.op == "scatter";
  if (!rooted_in) meaning.in = element_count(event.field("in_sizes"));
  if (!rooted_out) meaning.out = element_count(event.field("out_sizes"));
  if (rooted_in) meaning.dtype = event.field("out_dtypes");
  return meaning;
}

using Sides = std::map<Meaning, std::vector<RankOperation>>;

Sides sides_of(const OperationBoard& board, const LaneKey& key, std::int64_t seq) {
  Sides sides;
  for (const auto& [rank, trace] : board.traces()) {
    const Lane* lane = trace->lane(key);
    const RankOperation* operation = lane == nullptr ? nullptr : lane->at(seq);
    if (operation != nullptr) sides[meaning_of(*operation->event)].push_back(*operation);
  }
  return sides;
}

/// What the groups of the same kind did under this number.
const Meaning* meant_by_sisters(const OperationBoard& board, const LaneKey& key, std::int64_t seq,
                                const Sides& sides) {
  const ProcessGroup* own = board.group(key.group);
  if (own == nullptr || own->desc.empty()) return nullptr;
  std::map<Meaning, std::size_t> votes;
  for (const auto& [name, group] : board.groups()) {
    if (name == key.group || group.desc != own->desc) continue;
    for (const auto& [meaning, operations] : sides_of(board, {name, key.lane}, seq))
      votes[meaning] += operations.size();
  }
  const Meaning* best = nullptr;
  std::size_t most = 0;
  for (const auto& [meaning, operations] : sides) {
    const std::size_t count = votes.contains(meaning) ? votes.at(meaning) : 0;
    if (count == most) best = nullptr;
    if (count > most) best = &meaning;
    most = std::max(most, count);
  }
  return best;
}

std::string text_of(const Meaning& meaning, const Meaning& other) {
  if (meaning.op != other.op) return meaning.op;
  if (meaning.dtype != other.dtype) return meaning.op + " of " + meaning.dtype;
  const bool by_input = meaning.in != other.in;
  return meaning.op + " of " + std::to_string(by_input ? meaning.in : meaning.out) + " elements";
}

}  // namespace

bool is_collective(const LaneKey& key) { return key.lane == "collective"; }

std::int32_t peer_of(const LaneKey& key) {
  if (is_collective(key) || key.lane.size() < 6) return -1;
  return parse_number<std::int32_t>(std::string_view(key.lane).substr(5)).value_or(-1);
}

LaneKey seen_by_peer(const LaneKey& key, std::int32_t rank) {
  const bool sends = key.lane.starts_with("send>");
  return {key.group, (sends ? "recv<" : "send>") + std::to_string(rank)};
}

bool needs_everybody(const Event& event) {
  constexpr auto kinds = std::to_array<std::string_view>(
      {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "barrier"});
  const std::string_view op = event.field("op");
  return event.field("lane") == "collective" &&
         std::any_of(kinds.begin(), kinds.end(),
                     [op](auto kind) { return op.find(kind) != std::string_view::npos; });
}

std::string operation_name(const RankOperation& operation) {
  std::string text(operation.event->field("op"));
  if (operation.seq >= 0) text += " " + std::to_string(operation.seq);
  const std::string_view lane = operation.event->field("lane");
  if (lane.starts_with("send>")) text += " to rank " + std::string(lane.substr(5));
  if (lane.starts_with("recv<")) text += " from rank " + std::string(lane.substr(5));
  return text;
}

std::int64_t element_count(std::string_view sizes) {
  constexpr std::int64_t limit = std::int64_t{1} << 48U;
  std::int64_t total = 0, product = 1;
  bool any = false;
  std::int64_t number = -1;
  const auto close = [&] {
    if (number >= 0) product = std::min(limit, product * std::min(number, limit / product + 1));
    any = any || number >= 0;
    number = -1;
  };
  int depth = 0;
  for (const char c : sizes) {
    if (c >= '0' && c <= '9') {
      number = std::min(limit, std::max<std::int64_t>(number, 0) * 10 + (c - '0'));
      continue;
    }
    close();
    if (c == '[') ++depth;
    if (c == ']') --depth;
    const bool ends = (c == ']') || (c == ',' && depth == 0);
    if (ends && any) total = std::min(limit, total + product);
    if (ends) any = false, product = 1;
    if (c != '[' && c != ']' && c != ',' && c != ' ') return -1;
  }
  close();
  if (any) total = std::min(limit, total + product);
  return total > 0 || sizes.find('0') != std::string_view::npos ? total : -1;
}

std::string unequal_ends(const Event& one, const Event& other) {
  const std::string_view dtype = one.field("in_dtypes"), other_dtype = other.field("in_dtypes");
  if (!dtype.empty() && !other_dtype.empty() && dtype != other_dtype)
    return std::string(dtype) + " against " + std::string(other_dtype);
  const std::int64_t count = element_count(one.field("in_sizes"));
  const std::int64_t other_count = element_count(other.field("in_sizes"));
  if (count < 0 || other_count < 0 || count == other_count) return {};
  return std::to_string(count) + " elements against " + std::to_string(other_count) + " elements";
}

std::optional<OddRanks> find_odd_ranks(const OperationBoard& board, const LaneKey& key,
                                       std::int64_t seq) {
  const Sides sides = sides_of(board, key, seq);
  if (sides.size() < 2) return std::nullopt;
  const Meaning* usual = nullptr;
  std::size_t most = 0, met = 0;
  for (const auto& [meaning, operations] : sides) {
    met += operations.size();
    if (operations.size() > most) usual = &meaning;
    most = std::max(most, operations.size());
  }
  const bool majority = most * 2 > met;
  const Meaning* sisters = majority ? nullptr : meant_by_sisters(board, key, seq, sides);
  if (sisters != nullptr) usual = sisters;
  OddRanks odd;
  odd.sided = majority || sisters != nullptr;
  odd.usual = sides.at(*usual).front();
  for (const auto& [meaning, operations] : sides) {
    if (&meaning == usual) continue;
    if (odd.unusual.event == nullptr) {
      odd.unusual = operations.front();
      odd.differs = text_of(meaning, *usual) + " against " + text_of(*usual, meaning);
    }
    for (const RankOperation& operation : operations) odd.ranks.push_back(operation.rank);
  }
  if (!odd.sided) {
    for (const RankOperation& operation : sides.at(*usual)) odd.ranks.push_back(operation.rank);
  }
  std::sort(odd.ranks.begin(), odd.ranks.end());
  return odd;
}

}  // namespace faultline
