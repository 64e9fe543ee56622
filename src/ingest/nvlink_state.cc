#include "ingest/nvlink_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr unsigned links_max = 64;  // of one card; Blackwell has 18
constexpr std::size_t name_bytes_max = 96;
/// A link repairs itself, and a retried packet costs nothing: what is counted since the driver was
/// loaded means something from here on, and then only that the link is to be looked at.
constexpr std::uint64_t recoveries_min = 3;
constexpr std::uint64_t retries_min = 100;

struct Counter {
  std::string_view printed;
  std::string_view name;
  std::uint64_t min = 0;
};

/// "Replay Errors: 12"; nothing for what is no such counter or below its bound.
std::string counted(std::string_view value) {
  static constexpr std::array<Counter, 3> known = {
      {{"Replay Errors", "replay errors", retries_min},
       {"CRC Errors", "CRC errors", retries_min},
       {"Recovery Errors", "recovery errors", recoveries_min}}};
  const auto colon = value.find(": ");
  if (colon == std::string_view::npos) return {};
  const auto errors = parse_number<std::uint64_t>(trim(value.substr(colon + 2)));
  for (const Counter& counter : known) {
    if (value.substr(0, colon) == counter.printed && errors && *errors >= counter.min)
      return std::to_string(*errors) + " " + std::string(counter.name);
  }
  return {};
}

/// What stands between the first `open` and the `close` after it.
std::string_view between(std::string_view text, std::string_view open, char close) {
  const auto from = text.find(open);
  if (from == std::string_view::npos) return {};
  text.remove_prefix(from + open.size());
  return text.substr(0, text.find(close));
}

}  // namespace

NvlinkStateDecoder::NvlinkStateDecoder(const SystemDatabases& databases, Origin origin,
                                       Counters& counters, const DecoderLimits& limits)
    : origin_(std::move(origin)),
      counters_(counters),
      records_({databases.kernel, nullptr}, origin_, counters, limits) {}

std::vector<Event> NvlinkStateDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                            Instant now) {
  lines_.feed(bytes, offset, [&](const Line& line) { take_line(line, now); });
  return records_.take(now);
}

std::vector<Event> NvlinkStateDecoder::finish(Instant now) {
  lines_.finish([&](const Line& line) { take_line(line, now); });
  judge_links(now);
  return records_.finish(now);
}

void NvlinkStateDecoder::take_line(const Line& line, Instant now) {
  const std::string_view text = trim(line.text);
  if (begin_card(text) || !in_card_ || !text.starts_with("Link ")) return;
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos) return;
  const auto number = parse_number<unsigned>(text.substr(5, colon - 5));
  if (number && *number < links_max)
    read_link(*number, trim(text.substr(colon + 2)), line.offset, now);
}

/// "GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-1234abcd-...)".
bool NvlinkStateDecoder::begin_card(std::string_view line) {
  const std::string_view index = between(line, "GPU ", ':');
  if (!line.starts_with("GPU ") || !parse_number<unsigned>(index)) return false;
  in_card_ = cards_.size() < cards_max;
  if (!in_card_) return true;
  counters_.add("ingest_nvlink_cards_total");
  Card card;
  card.model = printable(trim(between(line, ": ", '(')), name_bytes_max);
  card.id = printable(between(line, "(UUID: ", ')'), name_bytes_max);
  if (!card.id.starts_with("GPU-")) card.id = "gpu" + std::string(index);
  cards_.push_back(std::move(card));
  return true;
}

void NvlinkStateDecoder::read_link(unsigned number, std::string_view value, std::uint64_t offset,
                                   Instant now) {
  Card& card = cards_.back();
  const bool inactive = to_lower(value) == "<inactive>";
  if (inactive || value.ends_with("GB/s")) {
    card.links[number] = {true, !inactive, offset};
  } else if (const std::string errors = counted(value); !errors.empty()) {
    add_line("nvlink " + card.id + ":" + std::to_string(number) + ": " + errors, offset, now);
  }
}

bool NvlinkStateDecoder::is_active_on_most(const Card& card, unsigned number) const {
  std::size_t others = 0, active = 0;
  for (const Card& other : cards_) {
    if (other.id == card.id || other.model != card.model) continue;
    const auto link = other.links.find(number);
    ++others;
    if (link != other.links.end() && link->second.active) ++active;
  }
  return active * 2 > others;
}

void NvlinkStateDecoder::judge_links(Instant now) {
  for (const Card& card : cards_) {
    const auto active = std::count_if(card.links.begin(), card.links.end(),
                                      [](const auto& link) { return link.second.active; });
    if (active == 0) continue;
    for (const auto& [number, link] : card.links) {
      if (!link.told || link.active || !is_active_on_most(card, number)) continue;
      add_line("nvlink " + card.id + ":" + std::to_string(number) + ": inactive, " +
                   std::to_string(active) + " active",
               link.offset, now);
    }
  }
  cards_.clear();
}

void NvlinkStateDecoder::add_line(const std::string& words, std::uint64_t offset, Instant now) {
  std::string head = to_text(known(origin_.last_written) ? origin_.last_written : now) + " ";
  if (!origin_.node.empty()) head += origin_.node + " ";
  head += "kernel: ";
  records_.add({EventSource::kernel_log, head, words, offset, {}}, now);
}

}  // namespace faultline
