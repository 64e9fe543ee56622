#include "ingest/nccl_ras_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "ingest/line_time.h"
#include "ingest/nccl_names.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::size_t lost_max = 65536;
constexpr std::size_t groups_max = 65536;
constexpr std::size_t agreements_max = 4096;
constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t version_bytes_max = 64;
constexpr std::size_t text_bytes_max = 320;        // kept of a line
constexpr std::string_view any_op = "collective";  // before 2.26 all kinds are counted together

/// A number at the cursor, which moves over it.
std::optional<std::int64_t> take_number(TextCursor& cursor) {
  const std::size_t begin = cursor.at();
  if (!cursor.take_digits(1, 18)) return std::nullopt;
  return parse_number<std::int64_t>(cursor.since(begin));
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  TextCursor cursor(text, at + words.size());
  return take_number(cursor);
}

std::int32_t small(std::optional<std::int64_t> number) {
  return number && *number < (1 << 24) ? static_cast<std::int32_t>(*number) : -1;
}

std::string host_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + words.size());
  return printable(text.substr(0, text.find_first_of(" ,")), host_bytes_max);
}

/// "GPU 5 managed by process 12 on node h", "GPU 0 (NVML 4) managed by ...", and the same turned
/// round: "Process 12 on node h managing GPUs 4,5".
void read_place(std::string_view text, RasRank& rank) {
  const bool process_first = text.find("managing GPU") != std::string_view::npos;
  rank.host = host_after(text, "on node ");
  rank.pid = number_after(text, process_first ? "Process " : "by process ").value_or(0);
  rank.cuda_dev =
      small(number_after(text, text.find("GPUs ") == std::string_view::npos ? "GPU " : "GPUs "));
  rank.nvml_dev = small(number_after(text, "(NVML "));
  if (rank.nvml_dev < 0) rank.nvml_dev = rank.cuda_dev;
}

/// ncclResult_t by RAS's word for it; 0 if it is none.
std::int32_t result_of(std::string_view words) {
  static constexpr std::array<std::pair<std::string_view, std::int32_t>, 7> results = {{
      {"Unhandled CUDA error", 1},
      {"System error", 2},
      {"Internal error", 3},
      {"Invalid argument", 4},
      {"Invalid usage", 5},
      {"Remote process error", 6},
      {"Unexpected error", 8},
  }};
  for (const auto& [word, result] : results) {
    if (words.find(word) != std::string_view::npos) return result;
  }
  return 0;
}

/// "has launched up to operation 6649" or "has not launched any operations".
std::optional<std::uint64_t> launched_in(std::string_view words) {
  if (words.find("not launched any operation") != std::string_view::npos) return 0;
  const auto count = number_after(words, "launched up to operation ");
  return count ? std::optional(static_cast<std::uint64_t>(*count)) : std::nullopt;
}

}  // namespace

std::vector<Event> NcclRasTextDecoder::feed(std::string_view bytes, std::uint64_t offset) {
  lines_.feed(bytes, offset, [this](const Line& line) { take_line(line); });
  return std::exchange(events_, {});
}

std::vector<Event> NcclRasTextDecoder::finish() {
  lines_.finish([this](const Line& line) { take_line(line); });
  end_report();
  return std::exchange(events_, {});
}

void NcclRasTextDecoder::take_line(const Line& line) {
  const std::string_view text = trim(line.text);
  if (text.empty() || take_heading(text) || take_communicator(text) ||
      take_process(text, line.offset) || take_rank(text, line.offset) || take_table_row(text))
    return;
  if (text.starts_with("The missing rank")) return take_missing_ranks(text, line.offset);
  take_count(text);
}

bool NcclRasTextDecoder::take_heading(std::string_view text) {
  constexpr std::string_view version = "NCCL version ";
  if (text.starts_with(version)) {
    end_report();
    report_.version =
        printable(text.substr(version.size(), text.find(' ', version.size()) - version.size()),
                  version_bytes_max);
  } else if (text.starts_with("Job summary")) {
    if (!report_.communicators.empty()) end_report();
  } else if (text == "DEAD" || text == "INCOMPLETE" || text == "TIMEOUT" || text == "Errors" ||
             text == "Warnings") {
    end_counts();
    communicator_.reset();
    topic_ = text == "DEAD" ? Topic::dead : text == "INCOMPLETE" ? Topic::incomplete : Topic::none;
  } else {
    return false;
  }
  return true;
}

/// "0  8  4  1  4  32  RUNNING  OK": group, communicators in it, nodes, ranks per node (may be
/// "7-8"), ranks per communicator, ranks in the group.
bool NcclRasTextDecoder::take_table_row(std::string_view text) {
  auto words = split(text, ' ');
  std::erase(words, std::string_view{});
  if (words.size() != 8 || groups_.size() >= groups_max) return false;
  const auto group = parse_number<std::int64_t>(words[0]);
  const auto count = parse_number<std::int64_t>(words[1]);
  const auto size = parse_number<std::int32_t>(words[4]);
  const bool row =
      group && count && size && *size > 0 && *size <= static_cast<std::int32_t>(ras_ranks_max);
  if (row) groups_[*group] = {*size, *count, 0};
  return row;
}

/// "#0-0 (27a079b828ff1a75) MISMATCH".
bool NcclRasTextDecoder::take_communicator(std::string_view text) {
  TextCursor cursor(text);
  if (!cursor.take('#')) return false;
  const std::size_t begin = cursor.at();
  const auto group = take_number(cursor);
  if (!group || !cursor.take('-') || !take_number(cursor)) return false;
  const std::string_view id = cursor.since(begin);
  if (!cursor.take(" (")) return false;
  const std::size_t hash = cursor.at();
  cursor.take_while([](char c) { return c != ')'; }, 1, 32);
  const std::string name = communicator_name(cursor.since(hash));
  if (name.empty() || !cursor.take(')')) return false;
  end_counts();
  topic_ =
      cursor.rest().find("INCOMPLETE") != std::string_view::npos ? Topic::incomplete : Topic::none;
  communicator_.reset();
  const auto known = known_.find(id);
  if (known != known_.end()) {
    communicator_ = known->second;
  } else if (report_.communicators.size() < ras_communicators_max) {
    communicator_ = report_.communicators.size();
    known_.emplace(id, *communicator_);
    Group& of = groups_[*group];
    ++of.detailed;
    report_.communicators.push_back({name, of.size, {}});
  } else {
    counters_.add("ingest_ras_too_many_total");
  }
  return true;
}

/// "Process 3487984 on node 172.16.64.213 managing GPU 5", of a list or of a monitor.
bool NcclRasTextDecoder::take_process(std::string_view text, std::uint64_t offset) {
  const auto process = text.find("Process ");
  if (process == std::string_view::npos || text.find(" managing GPU") == std::string_view::npos)
    return false;
  const std::string_view before = text.substr(0, process);
  const auto says = [&](std::string_view event) {
    return before.find(event) != std::string_view::npos;
  };
  RasRank rank;
  rank.dead = topic_ == Topic::dead || says("PEER_DEAD") || says("PEER_TIMEOUT_DEAD");
  rank.unresponsive =
      topic_ == Topic::incomplete || says("PEER_UNRESPONSIVE") || says("PEER_SEND_STUCK");
  if ((!rank.dead && !rank.unresponsive) || report_.lost.size() >= lost_max) return true;
  rank.answered = false;
  read_place(text.substr(process), rank);
  rank.offset = offset;
  rank.text = text.substr(0, text_bytes_max);
  report_.lost.push_back(std::move(rank));
  return true;
}

/// "Rank 21 -- GPU 5 managed by ..." of the class above, or with its own words before the "--".
bool NcclRasTextDecoder::take_rank(std::string_view text, std::uint64_t offset) {
  TextCursor cursor(text);
  if (!cursor.take("Rank ")) return false;
  const std::int32_t number = small(take_number(cursor));
  const auto dashes = text.find(" -- ");
  if (number < 0 || dashes == std::string_view::npos || dashes < cursor.at()) return false;
  RasRank* const rank = rank_to_fill(number, offset, text);
  if (rank == nullptr) return true;
  read_place(text.substr(dashes), *rank);
  note(*rank, number, text.substr(cursor.at(), dashes - cursor.at()));
  return true;
}

void NcclRasTextDecoder::note(RasRank& rank, std::int32_t number, std::string_view words) {
  if (topic_ == Topic::incomplete) {
    rank.answered = false;
    rank.unresponsive = true;
  } else if (topic_ == Topic::status) {
    rank.aborted = words.empty() ? listed_abort_ : words.find("ABORT") != std::string_view::npos;
  } else if (topic_ == Topic::errors || result_of(words) != 0) {
    rank.error = words.empty() ? error_ : result_of(words);
  } else if (topic_ == Topic::counts) {
    if (const auto launched = launched_in(words)) {
      if (agreements_.size() < agreements_max) agreements_.push_back({1, *launched, {number}});
    } else if (!agreements_.empty()) {
      agreements_.back().listed.push_back(number);
    }
  }
}

/// "The missing rank: 21", as up to 2.25.
void NcclRasTextDecoder::take_missing_ranks(std::string_view text, std::uint64_t offset) {
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos) return;
  for (const std::string_view part : split(text.substr(colon + 2), ',')) {
    const auto number = parse_number<std::int32_t>(trim(part));
    RasRank* const rank = number && *number >= 0 ? rank_to_fill(*number, offset, text) : nullptr;
    if (rank == nullptr) continue;
    rank->answered = false;
    rank->unresponsive = true;
  }
}

/// The lines that say what the ranks listed below them have in common.
void NcclRasTextDecoder::take_count(std::string_view text) {
  constexpr std::string_view differ = "Communicator ranks have different ";
  if (text.starts_with(differ)) {
    end_counts();
    text.remove_prefix(differ.size());
    const auto end = text.find(" operation counts");
    topic_ = end == std::string_view::npos ? Topic::status : Topic::counts;
    op_ = printable(text.substr(0, end), version_bytes_max);
    return;
  }
  TextCursor cursor(text);
  const auto count = take_number(cursor);
  if (!count || !cursor.take(" ranks ")) return;
  const std::string_view words = cursor.rest();
  if (const auto launched = launched_in(words); launched && topic_ == Topic::counts) {
    if (agreements_.size() < agreements_max) agreements_.push_back({*count, *launched, {}});
  } else if (topic_ == Topic::status) {
    listed_abort_ = words.find("ABORT") != std::string_view::npos;
  } else if (result_of(words) != 0) {
    topic_ = Topic::errors;
    error_ = result_of(words);
  }
}

RasRank* NcclRasTextDecoder::rank_to_fill(std::int32_t number, std::uint64_t offset,
                                          std::string_view text) {
  RasCommunicator* const told = communicator();
  if (told == nullptr) return nullptr;
  if (ranks_ >= ras_ranks_max && !told->ranks.contains(number)) {
    counters_.add("ingest_ras_too_many_total");
    return nullptr;
  }
  const auto [entry, added] = told->ranks.try_emplace(number);
  if (added) {
    ++ranks_;
    entry->second.offset = offset;
    entry->second.text = text.substr(0, text_bytes_max);
  }
  return &entry->second;
}

RasCommunicator* NcclRasTextDecoder::communicator() {
  return communicator_ ? &report_.communicators[*communicator_] : nullptr;
}

/// Gives every rank its count: the listed ones theirs, all others that of the one class that has
/// ranks which were not listed.
void NcclRasTextDecoder::end_counts() {
  const auto agreements = std::exchange(agreements_, {});
  const bool counted = std::exchange(topic_, Topic::none) == Topic::counts;
  RasCommunicator* const told = communicator();
  if (!counted || told == nullptr) return;
  const std::string op = op_.empty() ? std::string(any_op) : op_;
  const Agreement* unlisted = nullptr;
  std::int64_t sum = 0;
  std::set<std::int32_t> listed;
  for (const Agreement& agreement : agreements) {
    sum += agreement.count;
    for (const std::int32_t number : agreement.listed) {
      listed.insert(number);
      told->ranks[number].launched[op] = agreement.launched;
    }
    const bool whole = agreement.listed.size() >= static_cast<std::size_t>(agreement.count);
    if (!whole && unlisted != nullptr) return;  // which of two classes a rank is in is not said
    if (!whole) unlisted = &agreement;
  }
  if (told->size == 0 && sum > 0 && sum <= static_cast<std::int64_t>(ras_ranks_max))
    told->size = static_cast<std::int32_t>(sum);
  if (unlisted == nullptr || sum != told->size) return;
  for (std::int32_t number = 0; number < told->size; ++number) {
    if (listed.contains(number)) continue;
    RasRank* const rank = rank_to_fill(number, report_.offset, "");
    if (rank == nullptr) return;
    rank->launched[op] = unlisted->launched;
    if (rank->text.empty())
      rank->text = "rank " + std::to_string(number) + ", with most others: " + op + " " +
                   std::to_string(unlisted->launched);
  }
}

/// Communicators that are well are in the summary alone. They count when it comes to which one
/// holds the whole job; two of a size say that neither does.
void NcclRasTextDecoder::add_undetailed() {
  for (const auto& [number, group] : groups_) {
    const auto others = std::clamp<std::int64_t>(group.communicators - group.detailed, 0, 2);
    for (std::int64_t i = 0; i < others && group.size > 0; ++i)
      report_.communicators.push_back({"", group.size, {}});
  }
}

/// A process that is gone and a rank that is missing are the same where they have one place, or
/// where there is one of each.
void NcclRasTextDecoder::join_lost() {
  using Place = std::tuple<std::string, std::int64_t, std::int32_t>;
  std::set<Place> dead;
  for (const RasRank& lost : report_.lost) {
    if (lost.dead) dead.emplace(lost.host, lost.pid, lost.nvml_dev);
  }
  for (RasCommunicator& communicator : report_.communicators) {
    std::vector<RasRank*> missing;
    for (auto& [number, rank] : communicator.ranks) {
      if (!rank.answered) missing.push_back(&rank);
    }
    const bool one_of_each = missing.size() == 1 && report_.lost.size() == 1;
    for (RasRank* const rank : missing) {
      if (one_of_each && rank->host.empty()) {
        const RasRank& lost = report_.lost.front();
        std::tie(rank->host, rank->pid) = std::tie(lost.host, lost.pid);
        std::tie(rank->cuda_dev, rank->nvml_dev) = std::tie(lost.cuda_dev, lost.nvml_dev);
      }
      rank->dead = rank->dead || dead.contains({rank->host, rank->pid, rank->nvml_dev});
    }
  }
}

void NcclRasTextDecoder::end_report() {
  end_counts();
  join_lost();
  add_undetailed();
  auto events = ras_events(report_, origin_, counters_);
  std::move(events.begin(), events.end(), std::back_inserter(events_));
  report_ = {};
  groups_.clear();
  known_.clear();
  communicator_.reset();
  ranks_ = 0;
}

}  // namespace faultline
