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

/// Which value stands where; names in lower case.
class Columns {
 public:
  /// nullopt if the line is no header.
  static std::optional<Columns> of(std::string_view line) {
    Columns columns;
    for (const auto name : split(line, '|'))
      columns.place_.emplace(to_lower(trim(name)), columns.count_++);
    const bool has_id = columns.has("jobid") || columns.has("jobidraw");
    if (columns.count_ < 2 || !has_id || !columns.has("state")) return std::nullopt;
    std::vector<std::size_t> free;
    for (const auto name : free_columns) {
      if (const auto found = columns.place_.find(name); found != columns.place_.end())
        free.push_back(found->second);
    }
    if (free.size() == 1) columns.free_ = free.front();
    return columns;
  }

  [[nodiscard]] bool has(std::string_view name) const { return place_.contains(name); }

  /// The row's values by column; nullopt if there are more or fewer.
  [[nodiscard]] std::optional<std::vector<std::string_view>> values(std::string_view line) const {
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
  std::map<std::string, std::size_t, std::less<>> place_;
  std::size_t count_ = 0;
  std::optional<std::size_t> free_;
};

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
    if (auto columns = Columns::of(line)) {
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
    attempt.state = slurm_record_state(value("state"));
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
                 "no header line with JobID and State, divided by '|'; " + std::string(how_to_ask)};
  }
  return accounting.events();
}

}  // namespace faultline
