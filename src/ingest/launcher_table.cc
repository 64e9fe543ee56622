#include "ingest/launcher_table.h"

#include <utility>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

/// The second is that of PyTorch 1.9.
constexpr std::string_view first_failure_titles[] = {"Root Cause (first observed failure):",
                                                     "Root Cause:"};
constexpr std::string_view traceback_head = "Traceback (most recent call last):";
constexpr std::string_view traceback_indent = "  ";  // of every line that the row goes on with
constexpr std::string_view hydra_signature = "hydra.rank";
constexpr std::string_view daemon_signature = "mpi.daemon_lost.old";
constexpr std::string_view daemon_name_signature = "mpi.daemon_lost.name";
/// From the words about the daemon to its name: an empty line between them, and what a launcher
/// puts before each.
constexpr std::uint64_t daemon_name_bytes_max = 256;
constexpr std::string_view hydra_frame = "=";  // before every line of its box
constexpr std::size_t time_bytes = 19;         // "2026-11-29_19:50:25"

/// The number at the start of `text`, with its sign; "" if there is none.
std::string number_at_start(std::string_view text) {
  TextCursor cursor(text);
  cursor.take('-');
  return cursor.take_digits(1, 10) ? std::string(cursor.since(0)) : std::string();
}

/// The number after `word`: "2" in "17 (local_rank: 2)".
std::string number_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  return at == std::string_view::npos ? std::string()
                                      : number_at_start(text.substr(at + word.size()));
}

void set(Fields& fields, std::string_view name, std::string value) {
  if (!value.empty()) fields.insert_or_assign(std::string(name), std::move(value));
}

void read_row(std::string_view name, std::string_view value, Fields& entry) {
  if (name == "time") {
    set(entry, "time", std::string(trim(value).substr(0, time_bytes)));
  } else if (name == "rank") {
    set(entry, "rank", number_at_start(value));
    set(entry, "local_rank", number_after(value, "local_rank: "));
  } else if (name == "exitcode") {
    set(entry, "exit_code", number_at_start(value));
    set(entry, "pid", number_after(value, "pid: "));
  } else if (name == "host" && value != "localhost") {
    set(entry, "host", std::string(value));
  }
}

}  // namespace

bool is_table_row(const Event& event) {
  return event.fields.contains("field") && event.fields.contains("value");
}

bool LauncherTable::take(Event& event) {
  const auto name = event.field("field");
  failed_.clear();
  label_ = event.field("rank");
  if (name == "time") entry_.clear();  // the first row of an entry
  const bool last = name == "traceback" || name == "msg";
  // "msg: ..." is what any program may print.
  if (!last || (name == "msg" && !entry_.contains("exit_code"))) {
    read_row(name, event.field("value"), entry_);
    return true;
  }
  if (event.field("value").starts_with(traceback_head)) keep_place();
  for (auto& [key, value] : std::exchange(entry_, {})) {
    if (event.fields.size() < event_fields_max)
      event.fields.insert_or_assign(key, std::move(value));
  }
  if (std::exchange(next_is_first_, false)) set(event.fields, "first_failure", "1");
  return false;
}

void LauncherTable::keep_place() {
  frame_ = traceback_indent;
  for (const std::string_view name : {"rank", "local_rank", "host"}) {
    const auto value = entry_.find(std::string(name));
    if (value != entry_.end()) failed_.insert(*value);
  }
}

bool LauncherTable::is_stray_name(const Event& event) {
  if (event.signature == daemon_signature) lost_daemon_at_ = event.raw.offset;
  if (event.signature != daemon_name_signature) return false;
  const auto title = std::exchange(lost_daemon_at_, std::nullopt);
  return !title || event.raw.offset - *title > daemon_name_bytes_max;
}

void LauncherTable::place(std::string_view body, Event& event) {
  if (event.signature == hydra_signature) {
    failed_ = event.fields;
    label_.clear();
    frame_ = hydra_frame;
    return;
  }
  if (failed_.empty() || event.field("rank") != label_) return;
  if (!body.starts_with(frame_)) return failed_.clear();
  for (const auto& [name, value] : failed_) set(event.fields, name, value);
}

std::string told_time(const Event& event) {
  std::string time(event.field("time"));
  if (time.size() != time_bytes || (time[10] != '_' && time[10] != 'T')) return {};
  time[10] = 'T';
  return time;
}

void LauncherTable::pass(std::string_view body) {
  const auto title = trim(body);
  for (const auto first_failure : first_failure_titles) {
    if (!title.ends_with(first_failure)) continue;
    next_is_first_ = true;
    entry_.clear();
    failed_.clear();
  }
}

}  // namespace faultline
