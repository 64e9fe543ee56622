#include "ingest/sinfo_reasons.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/scheduler_events.h"
#include "ingest/scheduler_remarks.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

/// The reasons that Slurm gives itself and that are longer than the 20 bytes of sinfo's own column.
constexpr std::array<std::string_view, 6> long_reasons = {
    "Node unexpectedly rebooted",
    "batch job complete failure",
    "gres/gpu count reported lower than configured",
    "gres/gpu count too low",
    "Low socket*core*thread count",
    "Low RealMemory (reported less than configured)",
};

/// Those of a node that Slurm has set DOWN.
constexpr std::array<std::string_view, 2> reasons_of_loss = {"Not responding",
                                                             "Node unexpectedly rebooted"};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(line, ' ')) {
    if (!trim(word).empty()) words.push_back(trim(word));
  }
  return words;
}

/// The titles of a header, and how its rows are cut: every column but REASON is one word.
class SinfoColumns {
 public:
  static std::optional<SinfoColumns> of(std::string_view line) {
    SinfoColumns columns;
    columns.divider_ = line.find('|') == std::string_view::npos ? ' ' : '|';
    const auto titles = columns.divider_ == '|' ? split(line, '|') : words_of(line);
    for (const auto title : titles) columns.place_.emplace(to_lower(trim(title)), columns.count_++);
    const bool names_nodes =
        columns.place_.contains("nodelist") || columns.place_.contains("hostnames");
    if (!columns.place_.contains("reason") || !names_nodes) return std::nullopt;
    columns.reason_bytes_max_ = width_of_reason(line);
    return columns;
  }

  /// nullopt if there are more or fewer.
  [[nodiscard]] std::optional<std::vector<std::string_view>> values(std::string_view line) const {
    const auto parts = divider_ == '|' ? split(line, '|') : words_of(line);
    if (parts.size() < count_) return std::nullopt;
    const std::size_t surplus = parts.size() - count_;
    const std::size_t reason = place_.at("reason");
    std::vector<std::string_view> values(parts.begin(), parts.end());
    const auto last = parts[reason + surplus];
    const char* const start = parts[reason].data();
    values[reason] = {start, static_cast<std::size_t>(last.data() + last.size() - start)};
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(reason) + 1;
    values.erase(from, from + static_cast<std::ptrdiff_t>(surplus));
    return values;
  }

  [[nodiscard]] bool has(std::string_view title) const { return place_.contains(title); }
  [[nodiscard]] std::string_view value(const std::vector<std::string_view>& values,
                                       std::string_view title) const {
    const auto found = place_.find(title);
    return found == place_.end() ? std::string_view{} : trim(values[found->second]);
  }

  [[nodiscard]] bool may_be_cut(std::string_view reason) const {
    return divider_ == ' ' && reason.size() == reason_bytes_max_;
  }

 private:
  /// Up to the blank before the next title; the last column is never cut.
  static std::size_t width_of_reason(std::string_view line) {
    const auto at = to_lower(line).find("reason");
    const auto blank = line.find(' ', at);
    const auto next = line.find_first_not_of(' ', blank);
    return next == std::string_view::npos ? std::string_view::npos : next - 1 - at;
  }

  std::map<std::string, std::size_t, std::less<>> place_;
  std::size_t count_ = 0;
  std::size_t reason_bytes_max_ = 0;
  char divider_ = ' ';
};

/// The one reason of Slurm's own that starts so, else the text itself.
std::string_view completed(std::string_view reason) {
  constexpr std::size_t certain_bytes_min = 8;  // "Low " alone could be three of them
  std::string_view found = reason;
  std::size_t count = 0;
  for (const auto whole : long_reasons) {
    if (reason.size() < certain_bytes_min || !whole.starts_with(reason)) continue;
    found = whole;
    ++count;
  }
  return count == 1 ? found : reason;
}

class SinfoReasons {
 public:
  SinfoReasons(const Origin& origin, Counters& counters,
               std::shared_ptr<const SignatureDatabase> signatures)
      : origin_(origin), counters_(counters), remarks_(std::move(signatures), origin, counters) {}

  void take_line(std::string_view line, std::uint64_t offset) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) return;
    if (auto columns = SinfoColumns::of(line)) {
      columns_ = std::move(columns);
    } else if (columns_ && !take_row(line, offset)) {
      counters_.add("sinfo_rows_bad_total");
    }
  }

  [[nodiscard]] bool has_header() const { return columns_.has_value(); }
  std::vector<Event> events() { return std::move(events_); }

 private:
  bool take_row(std::string_view line, std::uint64_t offset) {
    const auto values = columns_->values(line);
    if (!values) return false;
    const auto value = [&](std::string_view title) { return columns_->value(*values, title); };
    const auto nodes = slurm_hosts(value(columns_->has("nodelist") ? "nodelist" : "hostnames"));
    if (nodes.empty()) return false;
    SchedulerNode seen;
    const bool cut = columns_->may_be_cut(value("reason"));
    seen.drain_reason = printable(cut ? completed(value("reason")) : value("reason"), 512);
    const auto user = value("user");
    seen.drain_owner = printable(user.substr(0, user.find('(')), 64);
    const auto* const loss =
        std::find(reasons_of_loss.begin(), reasons_of_loss.end(), seen.drain_reason);
    const bool says_state = columns_->has("state");
    if (says_state) apply_slurm_node_words(slurm_node_words(value("state")), seen);
    if (!says_state && loss != reasons_of_loss.end()) apply_slurm_node_words({"DOWN"}, seen);
    const Instant since = slurm_instant(value("timestamp"), origin_.utc_offset);
    for (const auto& name : nodes) {
      seen.name = name;
      Event event = node_event(seen, false, since);
      if (seen.state_text.empty()) {
        for (const std::string_view unsaid : {"state", "drained", "down"})
          event.fields.erase(event.fields.find(unsaid));
      }
      if (cut) event.fields.emplace("reason_cut", "1");
      give(as_told(std::move(event), {origin_.path, offset, {}, one_line(line)}));
    }
    return true;
  }

  void give(Event seen) {
    auto known_reasons = remarks_.of_reason(seen);
    events_.push_back(std::move(seen));
    std::move(known_reasons.begin(), known_reasons.end(), std::back_inserter(events_));
  }

  const Origin& origin_;
  Counters& counters_;
  SchedulerRemarks remarks_;
  std::optional<SinfoColumns> columns_;
  std::vector<Event> events_;
};

}  // namespace

Result<std::vector<Event>> decode_sinfo_reasons(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  SinfoReasons reasons(origin, counters, std::move(signatures));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    reasons.take_line(text.substr(at, end - at), at);
    at = end + 1;
  }
  if (!reasons.has_header()) {
    return Error{ErrorCode::invalid_argument,
                 "no header line with REASON and NODELIST; run: sinfo -R -o '%100E|%u|%H|%t|%N'"};
  }
  return reasons.events();
}

}  // namespace faultline
