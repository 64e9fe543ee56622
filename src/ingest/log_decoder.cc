#include "ingest/log_decoder.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "ingest/boot_watch.h"
#include "ingest/event_fields.h"
#include "ingest/event_throttle.h"
#include "ingest/event_time.h"
#include "ingest/gap_count.h"
#include "ingest/gpu_memory.h"
#include "ingest/hardware_name.h"
#include "ingest/kernel_lines.h"
#include "ingest/launcher_table.h"
#include "ingest/line_filter.h"
#include "ingest/line_prefix.h"
#include "ingest/line_splitter.h"
#include "ingest/line_time.h"
#include "ingest/nccl_init.h"
#include "ingest/quoted_words.h"
#include "ingest/signature_engine.h"
#include "ingest/subject_of.h"
#include "ingest/traceback_end.h"
#include "ingest/traceback_label.h"
#include "model/gap_reason.h"

namespace faultline {
namespace {

constexpr std::size_t block_bytes_max = std::size_t{64} << 10U;  // scanned at once

}  // namespace

class LogDecoder::Impl {
 public:
  Impl(std::shared_ptr<const SignatureDatabase> database, Origin origin, Counters& counters,
       const DecoderLimits& limits, LineChoice choice)
      : origin_(std::move(origin)),
        counters_(counters),
        database_(database),
        engine_(std::move(database), counters),
        throttle_(limits),
        choice_(choice),
        hints_{origin_.rank >= 0, origin_.nodes},
        splitter_(limits.line_bytes) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now) {
    begin(now);
    if (choice_ == LineChoice::all || kernel()) {
      split(bytes, offset);
    } else {
      split_filtered(bytes, offset);
    }
    counters_.add("ingest_bytes_total", bytes.size());
    return end(false);
  }

  std::vector<Event> finish(Instant now) {
    begin(now);
    splitter_.finish([this](const Line& line) { take_line(line); });
    scan_block();
    for (Event& event : ranks_.told()) give(std::move(event), block_first_line_);
    return end(true);
  }

  [[nodiscard]] const Origin& origin() const { return origin_; }

 private:
  [[nodiscard]] bool kernel() const { return origin_.source == EventSource::kernel_log; }
  [[nodiscard]] LinePrefix parse_prefix(std::string_view line) const;

  void begin(Instant now);
  void split(std::string_view bytes, std::uint64_t offset) {
    splitter_.feed(bytes, offset, [this](const Line& line) { take_line(line); });
  }
  void split_filtered(std::string_view bytes, std::uint64_t offset);
  std::size_t split_rest_of_traceback(std::string_view whole, std::size_t at, std::uint64_t offset);
  std::vector<Event> end(bool at_once);
  void take_line(const Line& line);
  [[nodiscard]] bool is_others_line(const LinePrefix& prefix, std::string_view body) const;
  [[nodiscard]] bool is_our_host(std::string_view host) const;
  void add_raised(const Line& line, std::size_t head);
  bool belongs_to_last_record(const Line& line, const LinePrefix& prefix);
  void watch_boots(const Line& line, const LinePrefix& prefix);
  void scan_block();
  void take_hit(const Hit& hit);
  void take_identity(const Hit& hit, Event event, std::uint64_t line);
  void take_rank(const Signature& signature, const LinePrefix& prefix, Event event,
                 std::uint64_t line);
  void give(Event event, std::uint64_t line);

  Event make_event(const Hit& hit, const LinePrefix& prefix, const std::string& text);
  void add_time(const LinePrefix& prefix, Event& event);
  void date_by_words(Event& event);
  void add_gpu(Event& event, const Signature& signature, std::uint64_t line);
  void report_gap(GapReason why, std::uint64_t lines, std::uint64_t bytes);
  void report_count(GapCount& count, std::uint64_t lines, std::uint64_t bytes, bool at_once);

  Origin origin_;
  Counters& counters_;
  std::shared_ptr<const SignatureDatabase> database_;
  SignatureEngine engine_;
  EventThrottle throttle_;
  LineChoice choice_;
  std::vector<LineSpan> spans_;
  JobLogHints hints_;
  LineSplitter splitter_;
  LineBlock block_;
  GpuMemory gpus_;
  LauncherTable table_;
  TracebackLabels traceback_labels_;
  TracebackEnd traceback_end_;
  NcclInit ranks_;
  std::uint64_t block_first_line_ = 0;  // lines scanned before the block
  KernelBoot boot_;
  BootWatch boots_;
  bool last_was_kmsg_ = false;
  bool last_was_driver_ = false;
  /// Of a message that the driver writes on several lines a syslog puts time and host before the
  /// first alone.
  std::string driver_head_;
  std::map<std::size_t, std::string> heads_;  // of lines in block_ that have none
  bool others_line_ = false;  // of a syslog file, written by another program than the kernel
  GapCount too_long_{GapReason::too_long};
  GapCount binary_{GapReason::binary};

  // Of the call in progress.
  Instant now_;
  std::vector<Event> events_;
  std::uint64_t lines_ = 0;
  /// The event in events_ whose continuation lines may follow.
  std::optional<std::size_t> open_sxid_;
};

LinePrefix LogDecoder::Impl::parse_prefix(std::string_view line) const {
  return origin_.source == EventSource::job_log ? parse_job_prefix(line, hints_)
                                                : parse_system_prefix(line);
}

void LogDecoder::Impl::begin(Instant now) {
  now_ = now;
  events_.clear();
  lines_ = 0;
  open_sxid_.reset();
}

std::vector<Event> LogDecoder::Impl::end(bool at_once) {
  scan_block();
  const auto& totals = splitter_.totals();
  report_count(too_long_, totals.too_long_lines, totals.too_long_bytes, at_once);
  report_count(binary_, totals.binary_lines, totals.binary_bytes, at_once);
  if (const auto dropped = throttle_.take_dropped(now_, at_once); dropped > 0)
    report_gap(GapReason::flood, dropped, 0);
  counters_.add("ingest_lines_total", lines_);
  counters_.add("ingest_events_total", events_.size());
  return std::exchange(events_, {});
}

/// The lines from `at` until no traceback is open any more, whatever they say; where they end.
std::size_t LogDecoder::Impl::split_rest_of_traceback(std::string_view whole, std::size_t at,
                                                      std::uint64_t offset) {
  while (traceback_end_.is_awaited() && at < whole.size()) {
    const std::size_t end = std::min(whole.find('\n', at), whole.size() - 1) + 1;
    split(whole.substr(at, end - at), offset + at);
    at = end;
  }
  return at;
}

/// Lines that lie whole in `bytes` are filtered; the one that began before, and the one that ends
/// later, are not.
void LogDecoder::Impl::split_filtered(std::string_view bytes, std::uint64_t offset) {
  const auto first = bytes.find('\n'), last = bytes.rfind('\n');
  if (first == last) return split(bytes, offset);
  const std::string_view whole = bytes.substr(first + 1, last - first);
  if (!find_lines_that_may_hit(*database_, whole, spans_)) return split(bytes, offset);
  split(bytes.substr(0, first + 1), offset);
  std::size_t seen = split_rest_of_traceback(whole, 0, offset + first + 1);
  for (const LineSpan& span : spans_) {
    if (span.begin < seen) continue;
    split(whole.substr(span.begin, span.end - span.begin), offset + first + 1 + span.begin);
    seen = split_rest_of_traceback(whole, span.end, offset + first + 1);
  }
  split(bytes.substr(last + 1), offset + last + 1);
}

void LogDecoder::Impl::take_line(const Line& line) {
  ++lines_;
  const LinePrefix prefix = parse_prefix(line.text);
  const bool after_driver = std::exchange(last_was_driver_, false);
  if (kernel()) {
    if (belongs_to_last_record(line, prefix)) return;
    watch_boots(line, prefix);
    // A syslog file holds everybody's lines; only the kernel's own are facts about the node. A line
    // without a head goes on with the one before.
    if (prefix.body > 0) others_line_ = is_others_line(prefix, line.text.substr(prefix.body));
    if (others_line_) {
      counters_.add("ingest_not_kernel_lines_total");
      return;
    }
    if (!prefix.host.empty() && !is_our_host(prefix.host)) {
      counters_.add("ingest_other_host_lines_total");
      return;
    }
  }
  std::size_t head = prefix.body;
  if (kernel()) {
    if (after_driver && head == 0) head = driver_continuation(line.text);
    last_was_driver_ = line.text.substr(head).starts_with("NVRM:");
    if (prefix.body == 0 && head > 0) heads_.emplace(block_.entries().size(), driver_head_);
    if (prefix.body > 0 && last_was_driver_) driver_head_ = line.text.substr(0, head);
  } else if (origin_.source == EventSource::job_log) {
    head += traceback_labels_.take(line.text.substr(head));
    if (traceback_end_.take(prefix, line.text.substr(head))) return add_raised(line, head);
  }
  // A record's number is its place in the kernel's buffer; in a file that somebody saved it is not.
  const bool saved = known(origin_.last_written);
  block_.add(line.text, head, saved ? line.offset : prefix.sequence.value_or(line.offset));
  if (block_.text().size() >= block_bytes_max) scan_block();
}

/// An exception that its traceback alone shows to be one, in words of our own.
void LogDecoder::Impl::add_raised(const Line& line, std::size_t head) {
  std::string told(line.text);
  told += raised_words;
  block_.add(told, head, line.offset);
}

/// In a file that somebody saved, and people judge, daemons of the node are heard as well. What is
/// followed is acted upon, and any user can write under a daemon's name.
bool LogDecoder::Impl::is_others_line(const LinePrefix& prefix, std::string_view body) const {
  const bool heard = origin_.facility_kernel_only && is_node_daemon(prefix.program) &&
                     body.starts_with(prefix.program);
  const bool of_program = prefix.from_syslog && prefix.program != "kernel" && !heard;
  return of_program || (origin_.facility_kernel_only && prefix.from_process);
}

/// A central syslog file holds other nodes' lines, and an agent speaks for its own alone.
bool LogDecoder::Impl::is_our_host(std::string_view host) const {
  const auto short_name = [](std::string_view name) {
    return to_lower(name.substr(0, name.find('.')));
  };
  if (origin_.host_names.empty()) return true;
  return std::any_of(origin_.host_names.begin(), origin_.host_names.end(),
                     [&](const std::string& ours) { return short_name(ours) == short_name(host); });
}

bool LogDecoder::Impl::belongs_to_last_record(const Line& line, const LinePrefix& prefix) {
  if (last_was_kmsg_ && is_kmsg_continuation(line.text)) return true;
  last_was_kmsg_ = prefix.sequence.has_value();
  return false;
}

/// Of a log that is followed only the agent knows which boots were asked for.
void LogDecoder::Impl::watch_boots(const Line& line, const LinePrefix& prefix) {
  if (!origin_.facility_kernel_only) return;
  const TimeReference reference{known(origin_.last_written) ? origin_.last_written : now_,
                                origin_.boot_time, origin_.utc_offset};
  const auto told = boots_.pass(prefix, line.text.substr(prefix.body), reference);
  if (!told.empty()) block_.add(told, parse_system_prefix(told).body, line.offset);
}

void LogDecoder::Impl::scan_block() {
  for (const Hit& hit : engine_.scan(block_)) take_hit(hit);
  block_first_line_ += block_.entries().size();
  block_.clear();
  heads_.clear();
}

void LogDecoder::Impl::take_hit(const Hit& hit) {
  const std::uint64_t line = block_first_line_ + hit.line;
  const auto body = block_.body(hit.line);
  if (kernel()) {
    if (is_sxid_continuation(body)) {
      if (open_sxid_) fold_sxid_continuation(body, events_[*open_sxid_]);
      return;
    }
    if (is_driver_remark(body)) return;
    // The driver begins its messages with its name; somebody who quotes one does not.
    const bool of_driver =
        hit.signature->pattern.starts_with("NVRM: ") || hit.signature->id.starts_with("xid");
    if (of_driver && !body.starts_with("NVRM:")) {
      counters_.add("ingest_quoted_driver_lines_total");
      return;
    }
  }
  if (hit.signature->id == traceback_signature) return;
  if (quotes_device(*hit.signature, body, hit.at)) {
    counters_.add("ingest_quoted_device_lines_total");
    return;
  }
  std::string text = block_.line(hit.line);
  if (text.ends_with(raised_words)) text.erase(text.size() - raised_words.size());
  const auto head = heads_.find(hit.line);
  const LinePrefix prefix = parse_prefix(head == heads_.end() ? text : head->second);
  Event event = make_event(hit, prefix, text);
  event.raw.offset = block_.entries()[hit.line].offset;
  if (kernel() && !possible_hardware(*hit.signature, event.fields, body)) {
    counters_.add("ingest_impossible_hardware_total");
    return;
  }
  if (kernel() && boot_.is_port_setup(*hit.signature, event)) {
    counters_.add("ingest_port_setup_lines_total");
    return;
  }
  if (hit.signature->id == nccl_init_signature)
    return take_rank(*hit.signature, prefix, std::move(event), line);
  if (hit.signature->use == SignatureUse::identity)
    return take_identity(hit, std::move(event), line);
  if (kernel()) add_gpu(event, *hit.signature, line);
  if (is_table_row(event)) {
    if (table_.take(event)) return;
    date_by_words(event);
  } else {
    table_.pass(body);
    if (table_.is_stray_name(event)) return;
    table_.place(body, event);
    if (!known(event.observed_at)) date_by_words(event);
  }
  const bool starts_sxid = kernel() && body.find("SXid (") != std::string_view::npos;
  const std::size_t events_before = events_.size();
  for (auto& subject : subjects_of(*hit.signature, event.fields, prefix, origin_)) {
    Event one = event;
    one.subject = std::move(subject);
    give(std::move(one), line);
  }
  // If the first line was dropped, its continuations have nowhere to go.
  open_sxid_.reset();
  if (starts_sxid && events_.size() > events_before) open_sxid_ = events_before;
}

void LogDecoder::Impl::take_identity(const Hit& hit, Event event, std::uint64_t line) {
  const auto value = [&](std::string_view name) { return std::string(event.field(name)); };
  std::string address = value("bdf");
  if (address.empty()) address = gpus_.near(line);
  if (address.empty()) return;  // nobody knows whose
  gpus_.name(address, line);
  if (!value("uuid").empty()) gpus_.set_uuid(address, value("uuid"));
  if (!value("serial").empty()) gpus_.set_serial(address, value("serial"));
  if (value("uuid").empty() && value("serial").empty())
    return;  // a name for the lines that follow, nothing else
  event.fields.emplace("bdf", address);
  event.kind = EventKind::gpu_identity;
  event.signature.clear();
  event.subject = subjects_of(*hit.signature, event.fields, {}, origin_).front();
  give(std::move(event), line);
}

/// The communicator's number of the rank where nothing says the job's: NcclInit finds out whether
/// they are the same.
void LogDecoder::Impl::take_rank(const Signature& signature, const LinePrefix& prefix, Event event,
                                 std::uint64_t line) {
  Fields named = event.fields;
  named.try_emplace("rank", event.field("comm_rank"));
  event.subject = subjects_of(signature, named, prefix, origin_).front();
  if (ranks_.take(event)) give(std::move(event), line);
}

void LogDecoder::Impl::give(Event event, std::uint64_t line) {
  switch (throttle_.admit(event, line, now_)) {
    case EventThrottle::Ruling::repeat: counters_.add("ingest_coalesced_total"); return;
    case EventThrottle::Ruling::flood: counters_.add("ingest_flood_dropped_total"); return;
    case EventThrottle::Ruling::pass: break;
  }
  event.id = make_event_id(event);
  events_.push_back(std::move(event));
}

Event LogDecoder::Impl::make_event(const Hit& hit, const LinePrefix& prefix,
                                   const std::string& text) {
  Event event;
  event.source = origin_.source;
  event.kind = EventKind::log_signature;
  event.signature = hit.signature->id;
  event.reporter = origin_.node;
  if (kernel() && (event.reporter.empty() || origin_.node_is_guess)) {
    if (auto host = host_of_kernel_line(prefix); !host.empty()) event.reporter = std::move(host);
  }
  event.attempt = origin_.attempt;
  event.fields = bounded(hit.captures);
  const auto rank = rank_of(event.fields, prefix, origin_);
  if (rank >= 0) add_field(event.fields, "rank", std::to_string(rank));
  if (prefix.local_rank >= 0)
    add_field(event.fields, "local_rank", std::to_string(prefix.local_rank));
  add_field(event.fields, "host", std::string(prefix.host));
  if (const auto dot = prefix.step.find('.'); dot != std::string_view::npos) {
    add_field(event.fields, "jobid", std::string(prefix.step.substr(0, dot)));
    add_field(event.fields, "stepid", std::string(prefix.step.substr(dot + 1)));
  }
  add_time(prefix, event);
  event.raw.path = origin_.path;
  event.raw.boot_id = origin_.boot_id;
  event.raw.text = bounded(text, raw_text_bytes_max);
  if (event.signature == raised_signature) event.signature = raised_as_signature;
  return event;
}

void LogDecoder::Impl::add_time(const LinePrefix& prefix, Event& event) {
  if (date_event(prefix, origin_, now_, event)) return;
  add_field(event.fields, "time_suspect", "1");
  counters_.add("ingest_time_suspect_total");
}

/// The time in a row of a launcher's table is when the worker failed, not when the table was
/// printed; that in "CANCELLED AT ..." is the only one which its line has.
void LogDecoder::Impl::date_by_words(Event& event) {
  const std::string time = told_time(event);
  if (time.empty()) return;
  LinePrefix dated;
  dated.time_form = TimeForm::iso;
  dated.time = time;
  add_time(dated, event);
}

/// The GPU that a line does not name, and what is known of the card.
void LogDecoder::Impl::add_gpu(Event& event, const Signature& signature, std::uint64_t line) {
  if (signature.subject != SubjectKind::gpu) return;
  std::string address(event.field("bdf"));
  if (address.empty()) {
    address = gpus_.near(line);
    if (address.empty()) return;
    add_field(event.fields, "bdf", address);
    add_field(event.fields, "bdf_from", "near_line");
  } else {
    gpus_.name(address, line);
  }
  if (const auto* card = gpus_.card(address)) {
    add_field(event.fields, "gpu_uuid", card->uuid);
    add_field(event.fields, "gpu_serial", card->serial);
  }
}

void LogDecoder::Impl::report_count(GapCount& count, std::uint64_t lines, std::uint64_t bytes,
                                    bool at_once) {
  if (lines == count.lines_told || (!at_once && !count.due(lines, now_))) return;
  counters_.add("ingest_" + std::string(to_text(count.why)) + "_lines_total",
                lines - count.lines_told);
  report_gap(count.why, lines - count.lines_told, bytes - count.bytes_told);
  count.lines_told = lines;
  count.bytes_told = bytes;
  count.told_at = now_;
}

void LogDecoder::Impl::report_gap(GapReason why, std::uint64_t lines, std::uint64_t bytes) {
  Event event;
  event.source = origin_.source;
  event.kind = EventKind::source_gap;
  event.reporter = origin_.node;
  event.attempt = origin_.attempt;
  event.subject = subject_of_log(origin_);
  event.observed_at = now_;
  event.clock = ClockDomain::node_wall;
  event.fields = {{"why", std::string(to_text(why))},
                  {"lines", std::to_string(lines)},
                  {"bytes", std::to_string(bytes)}};
  event.raw.path = origin_.path;
  event.raw.boot_id = origin_.boot_id;
  event.id = make_event_id(event);
  events_.push_back(std::move(event));
}

LogDecoder::LogDecoder(std::shared_ptr<const SignatureDatabase> database, Origin origin,
                       Counters& counters, DecoderLimits limits, LineChoice choice)
    : impl_(std::make_unique<Impl>(std::move(database), std::move(origin), counters, limits,
                                   choice)) {}
LogDecoder::~LogDecoder() = default;
LogDecoder::LogDecoder(LogDecoder&&) noexcept = default;
LogDecoder& LogDecoder::operator=(LogDecoder&&) noexcept = default;

std::vector<Event> LogDecoder::feed(std::string_view bytes, std::uint64_t offset, Instant now) {
  return impl_->feed(bytes, offset, now);
}
std::vector<Event> LogDecoder::finish(Instant now) { return impl_->finish(now); }
const Origin& LogDecoder::origin() const { return impl_->origin(); }

}  // namespace faultline
