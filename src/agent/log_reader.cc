#include "agent/log_reader.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

// Kernel times are worked out from the boot time, which is known to the second.
constexpr Duration time_slack = std::chrono::seconds{2};

/// A notice beside those of gaps: the file was rotated, and nothing of it is lost.
constexpr std::string_view another_file = "another_file";

/// Another: kernel lines that are dropped, since they are older than the agent or the boot.
constexpr std::string_view stale_lines = "stale_lines";

/// What the agent's own log says of a gap; "" of one that has a line of its own.
std::string_view text_of(GapReason why) {
  switch (why) {
    case GapReason::rotated: return "it was rotated, and lines were lost with the file before";
    case GapReason::truncated:
      return "it was truncated or written anew, and is read from its start";
    case GapReason::overrun: return "lines were overwritten before they could be read";
    case GapReason::binary: return "lines held NUL bytes, which were dropped";
    case GapReason::too_long: return "lines were too long and cut";
    case GapReason::flood: return "more hits than a log may have in a minute, the rest was dropped";
    case GapReason::spool_full:
    case GapReason::unread:
    case GapReason::unreadable:
    case GapReason::hung:
    case GapReason::state_damaged:
    case GapReason::nvml_hung: return {};
  }
  return {};
}

std::string_view text_of_notice(std::string_view kind) {
  if (kind == another_file) return "it is another file now, which is followed";
  const auto why = parse_enum<GapReason>(kind);
  return why ? text_of(*why) : std::string_view();
}

std::string count_of(const Tally& tally) {
  std::string text;
  if (tally.lines > 0) text += fmt::format(", {} lines", tally.lines);
  if (tally.bytes > 0) text += fmt::format(", {} bytes", tally.bytes);
  if (tally.times > 1) text += fmt::format(", {} times since it was last said", tally.times);
  return text;
}

std::uint64_t number_of(const Event& event, std::string_view field) {
  return parse_number<std::uint64_t>(event.field(field)).value_or(0);
}

}  // namespace

LogReader::LogReader(Settings settings, const Catalog& catalog, AgentState& state,
                     const Clock& clock, Counters& counters)
    : settings_(std::move(settings)),
      catalog_(catalog),
      state_(state),
      clock_(clock),
      counters_(counters) {}

/// Loaded when the first log of the kind is read: an agent without job logs never holds their
/// patterns. What cannot be compiled is not tried again: the catalog stays as it is.
const Result<std::shared_ptr<const SignatureDatabase>>& LogReader::database(EventSource kind) {
  auto it = databases_.find(kind);
  if (it == databases_.end()) {
    it = databases_
             .emplace(kind, SignatureDatabase::open(catalog_, layers_of(kind), settings_.cache,
                                                    counters_))
             .first;
  }
  return it->second;
}

Origin LogReader::origin_of(const std::string& path, EventSource kind,
                            const std::optional<AttemptId>& attempt, std::int32_t rank) const {
  Origin origin;
  origin.source = kind;
  origin.node = settings_.node;
  origin.path = printable(path, 1024);
  if (kind == EventSource::kernel_log) {
    origin.boot_id = settings_.boot_id;
    origin.host_names = settings_.host_names;
  }
  origin.attempt = attempt;
  origin.rank = rank;
  origin.boot_time = settings_.boot_time;
  origin.utc_offset = settings_.utc_offset;
  return origin;
}

Status LogReader::prepare(Log& log) {
  if (log.decoder) return ok_status();
  const auto& patterns = database(log.origin.source);
  if (!patterns.ok()) return patterns.error();
  log.decoder.emplace(patterns.value(), log.origin, counters_);
  return ok_status();
}

Status LogReader::add(std::unique_ptr<LogSource> source, EventSource kind,
                      const std::optional<AttemptId>& attempt, std::int32_t rank,
                      const Sink& sink) {
  const std::string path = source->path();
  if (logs_.size() >= settings_.logs_max && !follows(path)) {
    counters_.add("agent_logs_refused_total");
    return Error{ErrorCode::exhausted, "too many logs to follow " + path};
  }
  if (follows(path)) {
    drain(path, sink);
    Log& old = logs_.at(path);
    if (old.source->waiting()) say_unread(old, sink);
    say(old, old.notices.take_all());
    keep_cursors();
    logs_.erase(path);
  }
  if (const std::string cursor = state_.cursor(path); !cursor.empty()) source->resume(cursor);
  Log log{.source = std::move(source),
          .origin = origin_of(path, kind, attempt, rank),
          .notices = Notices(settings_.notice_interval),
          .last_bytes = clock_.monotonic()};
  const auto placed = logs_.emplace(path, std::move(log)).first;
  read(placed->second, 0, sink);
  return ok_status();
}

bool LogReader::poll(const Sink& sink) {
  bool more = false;
  for (auto it = logs_.begin(); it != logs_.end();) {
    Log& log = it->second;
    const bool has_more = poll_one(log, sink);
    more = more || has_more;
    if (over(log, has_more, sink)) {
      finish(log, sink);
      say(log, log.notices.take_all());
      state_.drop_cursor(it->first);
      it = logs_.erase(it);
    } else {
      ++it;
    }
  }
  return more;
}

/// True if there is nothing more to come of it. A log that has had no answer is not over: its last
/// lines say why the job died, and they can be read when the mount is back.
bool LogReader::over(Log& log, bool has_more, const Sink& sink) {
  const Duration now = clock_.monotonic();
  if (!log.source->waiting()) {
    log.waiting_since.reset();
    return log.remove_at && now >= *log.remove_at && !has_more;
  }
  if (!log.waiting_since) log.waiting_since = now;
  if (!log.remove_at) return false;
  log.remove_at = std::max(*log.remove_at, now + settings_.late_answer);
  if (now - *log.waiting_since < settings_.unread_max) return false;
  say_unread(log, sink);
  return true;
}

void LogReader::say_unread(Log& log, const Sink& sink) {
  counters_.add("agent_logs_unread_total");
  spdlog::warn("log: {}: given up, its last lines were not read: no answer from its file system",
               log.source->path());
  say_gap(log, GapReason::unread, 0, sink);
}

bool LogReader::poll_one(Log& log, const Sink& sink) {
  if (const Status ready = prepare(log); !ready.ok()) {
    failed(log, ready.error(), sink);
    return false;
  }
  return read(log, settings_.bytes_per_poll_max, sink);
}

bool LogReader::read(Log& log, std::size_t bytes_max, const Sink& sink) {
  auto chunks = log.source->poll(bytes_max);
  if (!chunks.ok()) {
    failed(log, chunks.error(), sink);
    return false;
  }
  recovered(log);
  std::size_t bytes = 0;
  for (const Chunk& chunk : chunks.value()) {
    bytes += chunk.bytes.size();
    take_chunk(log, chunk, sink);
  }
  const Duration now = clock_.monotonic();
  if (bytes > 0) {
    log.last_bytes = now;
  } else if (log.origin.source != EventSource::kernel_log &&
             now - log.last_bytes >= settings_.rest) {
    // Never a kernel log's: half of "Xid 48" is another fault, and the kernel always ends its
    // lines.
    finish(log, sink);
  }
  say(log, log.notices.take_due(now));
  return bytes >= bytes_max;
}

/// What was read is taken as it is, to its last byte.
void LogReader::finish(Log& log, const Sink& sink) {
  if (std::exchange(log.fed, false)) give(log, log.decoder->finish(clock_.now()), sink);
}

void LogReader::take_chunk(Log& log, const Chunk& chunk, const Sink& sink) {
  if (chunk.incarnation != log.incarnation) {
    finish(log, sink);
    // A file that is rotated away may grow for a while beside the new one: that is one rotation.
    const bool another = !log.incarnation.empty() && chunk.incarnation != log.incarnation_before;
    if (another && !chunk.gap) log.notices.add(another_file, 0, 0);
    log.incarnation_before = std::exchange(log.incarnation, chunk.incarnation);
  }
  if (chunk.gap) say_gap(log, *chunk.gap, chunk.offset, sink);
  counters_.add("agent_log_bytes_total", chunk.bytes.size());
  if (chunk.bytes.empty()) return;
  log.fed = true;
  give(log, log.decoder->feed(chunk.bytes, chunk.offset, clock_.now()), sink);
}

void LogReader::give(Log& log, std::vector<Event> events, const Sink& sink) {
  drop_stale(log, events);
  for (Event& event : events) {
    if (!known(event.observed_at)) {
      // The line says no time; we follow closely, so the time of reading is a good one.
      event.observed_at = clock_.now();
      event.clock = ClockDomain::node_wall;
    }
    pass_on(log, std::move(event), sink);
  }
}

void LogReader::pass_on(Log& log, Event event, const Sink& sink) const {
  if (event.kind == EventKind::source_gap)
    log.notices.add(event.field("why"), number_of(event, "lines"), number_of(event, "bytes"));
  sink(std::move(event));
}

void LogReader::say(const Log& log, const std::vector<Notices::Due>& notices) const {
  for (const auto& [kind, tally] : notices) {
    const auto level = kind == another_file ? spdlog::level::info : spdlog::level::warn;
    const auto text = kind == stale_lines ? text_of_stale(log) : std::string(text_of_notice(kind));
    if (!text.empty())
      spdlog::log(level, "log: {}: {}{}", log.source->path(), text, count_of(tally));
  }
}

/// A kernel line of before the agent's first start, or of an earlier boot, was somebody else's
/// news; that time is given. While the clock stands before one of these, it was stepped back and
/// says nothing about it.
std::optional<Instant> LogReader::stale(const Log& log, const Event& event) const {
  if (log.origin.source != EventSource::kernel_log || !known(event.observed_at))
    return std::nullopt;
  for (const Instant start : {settings_.boot_time, state_.first_start()})
    if (clock_.now() >= start && event.observed_at + time_slack < start) return start;
  return std::nullopt;
}

void LogReader::drop_stale(Log& log, std::vector<Event>& events) {
  const auto dropped = std::erase_if(events, [&](const Event& event) {
    const auto start = stale(log, event);
    if (!start) return false;
    log.stale_before = *start;
    if (!known(log.oldest_stale) || event.observed_at < log.oldest_stale)
      log.oldest_stale = event.observed_at;
    return true;
  });
  if (dropped == 0) return;
  counters_.add("agent_stale_lines_total", dropped);
  log.notices.add(stale_lines, dropped, 0);
}

std::string LogReader::text_of_stale(const Log& log) const {
  const bool boot = log.stale_before == settings_.boot_time;
  return fmt::format(
      "hits of before {} ({}) are old news and not told, the oldest is of {} before it",
      boot ? "this boot" : "the agent's first start", to_text(log.stale_before),
      to_text(log.stale_before - log.oldest_stale));
}

void LogReader::say_gap(Log& log, GapReason why, std::uint64_t offset, const Sink& sink) const {
  Event gap;
  gap.source = EventSource::agent;
  gap.kind = EventKind::source_gap;
  gap.subject = Subject::of_node(settings_.node);
  gap.attempt = log.origin.attempt;
  gap.observed_at = clock_.now();
  gap.clock = ClockDomain::node_wall;
  gap.fields = {{"why", std::string(to_text(why))}, {"log", printable(log.source->path(), 1000)}};
  gap.raw.path = printable(log.source->path(), 1024);
  gap.raw.offset = offset;
  pass_on(log, std::move(gap), sink);
}

void LogReader::failed(Log& log, const Error& error, const Sink& sink) {
  counters_.add("agent_log_errors_total");
  if (!std::exchange(log.failing, true)) count_unreadable();
  const Duration now = clock_.monotonic();
  if (log.complained ||
      (log.complained_at && now - *log.complained_at < settings_.complaint_interval))
    return;
  log.complained = true;
  log.complained_at = now;
  complain(log, error, sink);
}

void LogReader::complain(Log& log, const Error& error, const Sink& sink) {
  std::optional<GapReason> gap;
  if (log.origin.source == EventSource::kernel_log) {
    gap = GapReason::unreadable;
    spdlog::error(
        "kernel log: {}; no fault of this node's kernel is seen until it can be read, which is "
        "tried on and on: is --kernel-log right? (`faultline doctor --agent`)",
        error.message);
  } else if (error.code == ErrorCode::not_found) {
    spdlog::info("log: {}", error.message);  // not there yet: the usual case
  } else {
    spdlog::warn("log: {}", error.message);
  }
  if (error.code == ErrorCode::deadline_exceeded) {
    counters_.add("agent_log_hangs_total");
    gap = GapReason::hung;
  }
  if (gap) say_gap(log, *gap, 0, sink);
}

void LogReader::recovered(Log& log) {
  if (!std::exchange(log.failing, false)) return;
  count_unreadable();
  if (std::exchange(log.complained, false)) spdlog::info("log: {} can be read", log.source->path());
}

/// Shown by the controller's /metrics: a node whose kernel nobody hears looks healthy.
void LogReader::count_unreadable() {
  const auto unreadable = std::count_if(logs_.begin(), logs_.end(), [](const auto& entry) {
    return entry.second.origin.source == EventSource::kernel_log && entry.second.failing;
  });
  counters_.set("agent_kernel_logs_unreadable", static_cast<std::uint64_t>(unreadable));
}

void LogReader::drain(const std::string& path, const Sink& sink) {
  const auto it = logs_.find(path);
  if (it == logs_.end()) return;
  constexpr int polls_max = 64;  // 16 MiB; a writer that is faster must wait for its turn
  int polls = 0;
  while (poll_one(it->second, sink) && ++polls < polls_max) {
  }
  finish(it->second, sink);
}

void LogReader::remove_later(const std::string& path, Duration linger) {
  const auto it = logs_.find(path);
  if (it != logs_.end()) it->second.remove_at = clock_.monotonic() + linger;
}

void LogReader::keep_cursors() {
  for (const auto& [path, log] : logs_) state_.set_cursor(path, log.source->cursor());
}

std::vector<int> LogReader::wait_descriptors() const {
  std::vector<int> descriptors;
  for (const auto& [path, log] : logs_) {
    if (const int descriptor = log.source->wait_descriptor(); descriptor >= 0)
      descriptors.push_back(descriptor);
  }
  return descriptors;
}

bool LogReader::must_poll() const {
  for (const auto& [path, log] : logs_) {
    if (log.source->wait_descriptor() < 0) return true;
  }
  return false;
}

}  // namespace faultline
