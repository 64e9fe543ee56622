#include "ingest/slurm_accounting.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/scheduler_events.h"
#include "ingest/slurm_runs.h"
#include "ingest/slurm_words.h"

namespace faultline {
namespace {

constexpr std::string_view how_to_ask =
    "run: sacct --duplicates --parsable2 "
    "--format=JobID,JobName,User,State,ExitCode,Start,End,NodeList --jobs=JOB";

/// Free text may hold the separator; of several such columns nobody can tell which one does.
constexpr std::array<std::string_view, 7> free_columns = {
    "jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra"};

/// "------------ ---------- ----------": how sacct underlines the titles of its table.
bool is_rule(std::string_view line) {
  return line.starts_with("---") && line.find_first_not_of("- ") == std::string_view::npos;
}

/// Which value stands where; names in lower case.
class Columns {
 public:
  /// nullopt if the line is no header.
  static std::optional<Columns> of(std::string_view line) {
    Columns columns;
    if (!columns.name(split(line, '|'))) return std::nullopt;
    std::vector<std::size_t> free;
    for (const auto name : free_columns) {
      if (const auto found = columns.place_.find(name); found != columns.place_.end())
        free.push_back(found->second);
    }
    if (free.size() == 1) columns.free_ = free.front();
    return columns;
  }

  /// Of a table, whose columns are as wide as the rule below their titles.
  static std::optional<Columns> of_table(std::string_view titles, std::string_view rule) {
    Columns columns;
    for (std::size_t at = 0; at < rule.size();) {
      const std::size_t end = std::min(rule.find(' ', at), rule.size());
      if (end > at) columns.spans_.emplace_back(at, end - at);
      at = end + 1;
    }
    if (!columns.name(columns.cut(titles))) return std::nullopt;
    return columns;
  }

  [[nodiscard]] bool has(std::string_view name) const { return place_.contains(name); }

  /// The row's values by column; nullopt if there are more or fewer.
  [[nodiscard]] std::optional<std::vector<std::string_view>> values(std::string_view line) const {
    if (!spans_.empty()) return cut(line);
    auto parts = split(line, '|');
    if (parts.size() > count_ && free_) {
      const std::size_t surplus = parts.size() - count_;
      std::string_view& text = parts[*free_];
      const std::string_view last = parts[*free_ + surplus];
      text = {text.data(), static_cast<std::size_t>(last.data() + last.size() - text.data())};
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(*free_) + 1;
      parts.erase(from, from + static_cast<std::ptrdiff_t>(surplus));
    }
    if (parts.size() != count_) return std::nullopt;
    return parts;
  }

  [[nodiscard]] std::string_view value(const std::vector<std::string_view>& values,
                                       std::string_view name) const {
    const auto found = place_.find(name);
    return found == place_.end() ? std::string_view{} : trim(values[found->second]);
  }

 private:
  /// False if these are no titles of sacct.
  bool name(const std::vector<std::string_view>& titles) {
    for (const auto title : titles) place_.emplace(to_lower(trim(title)), count_++);
    return count_ >= 2 && (has("jobid") || has("jobidraw")) && has("state");
  }

  [[nodiscard]] std::vector<std::string_view> cut(std::string_view line) const {
    std::vector<std::string_view> parts;
    for (const auto& [at, width] : spans_)
      parts.push_back(at < line.size() ? trim(line.substr(at, width)) : std::string_view{});
    return parts;
  }

  std::map<std::string, std::size_t, std::less<>> place_;
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  // of a table; empty: '|' divides
  std::size_t count_ = 0;
  std::optional<std::size_t> free_;
};

/// "OUT_OF_ME+": what did not fit a table's column. The one state that begins so.
std::string_view whole_state(std::string_view state) {
  if (!state.ends_with('+')) return state;
  const auto start = state.substr(0, state.size() - 1);
  constexpr std::array<std::string_view, 3> long_states = {"OUT_OF_MEMORY", "CANCELLED by",
                                                           "REQUEUE_HOLD"};
  const auto* const whole =
      std::find_if(long_states.begin(), long_states.end(),
                   [&](std::string_view name) { return name.starts_with(start); });
  return whole == long_states.end() ? start : *whole;
}

/// "CANCELLED by 1000" -> "1000".
std::string_view canceller(std::string_view state) {
  constexpr std::string_view by = " by ";
  const auto at = state.find(by);
  return at == std::string_view::npos ? std::string_view{} : state.substr(at + by.size());
}

class AccountingText {
 public:
  AccountingText(const Origin& origin, Counters& counters) : origin_(origin), counters_(counters) {}

  void take_line(std::string_view line, std::uint64_t offset) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) return;
    const std::string_view above = std::exchange(line_above_, line);
    auto columns = is_rule(line) ? Columns::of_table(above, line) : Columns::of(line);
    if (columns) {
      columns_ = std::move(columns);
    } else if (columns_ && !take_row(line, offset)) {
      counters_.add("slurm_accounting_rows_bad_total");
    }
  }

  [[nodiscard]] bool has_header() const { return columns_.has_value(); }
  std::vector<Event> events() { return std::move(runs_).events(); }

 private:
  bool take_row(std::string_view line, std::uint64_t offset) {
    const auto values = columns_->values(line);
    if (!values) return false;
    const auto value = [&](std::string_view name) { return columns_->value(*values, name); };
    const auto id = value(columns_->has("jobid") ? "jobid" : "jobidraw");
    const auto dot = id.find('.');
    SlurmRun run;
    if (!set_slurm_job(id.substr(0, dot), run.attempt)) return is_array_tail(id);
    const auto nodes = value("nodelist");
    const auto exit = slurm_exit_code(value("exitcode"));
    if (dot != std::string_view::npos) {
      const SlurmStep step{printable(id.substr(dot + 1), 64), printable(value("exitcode"), 16),
                           exit, std::string(slurm_hosts(nodes).empty() ? "" : nodes)};
      return runs_.add_step(run.attempt.id.job, step);
    }
    Attempt& attempt = run.attempt;
    attempt.state = slurm_record_state(whole_state(value("state")));
    attempt.name = printable(value("jobname"), 256);
    attempt.user = printable(value("user"), 64);
    attempt.started_at = slurm_instant(value("start"), origin_.utc_offset);
    attempt.ended_at = slurm_instant(value("end"), origin_.utc_offset);
    attempt.nodes = slurm_hosts(nodes);
    attempt.exit_code = exit;
    if (!attempt.nodes.empty()) run.node_list = nodes;
    run.restart = parse_number<std::uint32_t>(value("restarts"));
    run.ran = columns_->has("start") ? known(attempt.started_at)
                                     : !columns_->has("nodelist") || !attempt.nodes.empty();
    run.cancelled_by = canceller(value("state"));
    if (const auto reason = value("reason"); reason != "None") run.reason = reason;
    run.failed_node = value("failednode");
    run.raw = {origin_.path, offset, {}, one_line(line)};
    runs_.add(std::move(run));
    return true;
  }

  /// "123_[5-9]": tasks that have not started.
  static bool is_array_tail(std::string_view id) {
    return id.find("_[") != std::string_view::npos && id.ends_with(']');
  }

  const Origin& origin_;
  Counters& counters_;
  std::optional<Columns> columns_;
  std::string_view line_above_;
  SlurmRuns runs_;
};

}  // namespace

Result<std::vector<Event>> decode_slurm_accounting(std::string_view text, const Origin& origin,
                                                   Counters& counters) {
  AccountingText accounting(origin, counters);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    accounting.take_line(text.substr(at, end - at), at);
    at = end + 1;
  }
  if (!accounting.has_header()) {
    return Error{ErrorCode::invalid_argument,
                 "no header line with JobID and State; " + std::string(how_to_ask)};
  }
  return accounting.events();
}

}  // namespace faultline
