#include "diagnose/training_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "detect/failure_case.h"
#include "diagnose/counted_step.h"
#include "diagnose/step_pace.h"
#include "ingest/line_prefix.h"
#include "ingest/line_time.h"
#include "ingest/subject_of.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::size_t watched_max = 256;  // of one log
constexpr std::size_t looked_bytes_max = 4096;
/// How far back the step before the words is looked for.
constexpr std::size_t before_bytes_max = std::size_t{64} << 10U;
/// Words can be told of somewhat later than the lines behind them.
constexpr std::size_t recent_bytes = 2 * before_bytes_max;
/// Python holds back so much of what it prints to a file, and nothing of its traceback: steps from
/// before the words come behind them when the process ends. 8 KiB up to 3.13; since then 128, and 8
/// that are not encoded yet.
constexpr std::uint64_t held_back_bytes = std::uint64_t{136} << 10U;

/// Where the line that begins at `at` ends; find_first_of would call a function for each byte.
std::size_t line_end(std::string_view text, std::size_t at = 0) {
  const auto* const end = std::find_if(text.data() + at, text.data() + text.size(),
                                       [](char c) { return c == '\n' || c == '\r'; });
  const auto place = static_cast<std::size_t>(end - text.data());
  return place == text.size() ? std::string_view::npos : place;
}

template <class Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const auto end = std::min(line_end(text), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string milliseconds(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count());
}

/// In the last before_bytes_max of what lies before a line; `offset` is where that begins.
TrainingWatch::Counted last_step_in(std::string_view before, std::uint64_t offset) {
  if (before.size() > before_bytes_max) {
    offset += before.size() - before_bytes_max;
    before = before.substr(before.size() - before_bytes_max);
    const auto half_a_line = std::min(line_end(before), before.size());
    offset += half_a_line;
    before.remove_prefix(half_a_line);
  }
  const char* const begin = before.data();
  TrainingWatch::Counted last;
  each_line(before, [&](std::string_view line) {
    if (const auto step = counted_step(line))
      last = {*step, offset + static_cast<std::uint64_t>(line.data() - begin)};
  });
  return last;
}

/// Counts steps of which each is further than the one before; the first beyond `from`.
void count_step(std::int64_t step, std::int64_t from, std::int64_t& last, int& steps) {
  if (step <= from || step == last) return;
  steps = step > last ? steps + 1 : 1;
  last = step;
}

}  // namespace

bool TrainingWatch::says_hardware(const Event& event) const {
  const auto line = unplaced_line(event, catalog_);
  return line && faultline::says_hardware(*line);
}

/// The job comes down or begins anew: steps behind that are of other processes, perhaps elsewhere.
bool TrainingWatch::ends_watch(const Event& event) const {
  if (event.kind == EventKind::rank_started || event.signature == resumed_signature) return true;
  const auto line = unplaced_line(event, catalog_);
  return line && comes_with_the_end(*line);
}

std::vector<const Event*> TrainingWatch::marks_in(const std::vector<Event>& events) const {
  std::vector<const Event*> marks;
  for (const Event& event : events) {
    if (says_hardware(event) || ends_watch(event)) marks.push_back(&event);
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Event* a, const Event* b) { return a->raw.offset < b->raw.offset; });
  return marks;
}

/// Words can come by the thousand: of what lies before them each line is looked at once.
std::int64_t TrainingWatch::step_before(std::string_view before, std::uint64_t offset) {
  const std::uint64_t end = offset + before.size();
  const std::uint64_t from = end - std::min<std::uint64_t>(before.size(), before_bytes_max);
  if (counted_until_ < from || counted_until_ > end) {
    counted_ = last_step_in(before, offset);
  } else if (const auto next = last_step_in(before.substr(counted_until_ - offset), counted_until_);
             next.step >= 0) {
    counted_ = next;
  }
  counted_until_ = end;
  return counted_.offset < from ? -1 : counted_.step;
}

void TrainingWatch::take(const Event& event, std::string_view before) {
  const std::uint64_t place = event.raw.offset;
  if (!says_hardware(event)) {
    std::erase_if(watched_, [&](const Said& said) { return said.event.raw.offset < place; });
    return;
  }
  // What counts up without a step before the words may have done so before them.
  if (watched_.size() >= watched_max) return;
  const std::int64_t step = step_before(before, recent_end_ - recent_.size());
  if (step < 0) return;
  watched_.emplace_back();
  watched_.back().event = event;
  watched_.back().last_step = step;
  watched_.back().looked_until = place + 1;
}

std::vector<Event> TrainingWatch::feed(std::string_view bytes, std::uint64_t offset) {
  std::vector<Event> events = log_->feed(bytes, offset);
  for (const Event& event : events) {
    if (event.signature == finished_signature) finished_at_ = event.raw.offset + 1;
  }
  const std::vector<const Event*> marks = marks_in(events);
  if (watched_.empty() && marks.empty()) {
    if (bytes.size() >= recent_bytes) recent_.clear();
    recent_ += bytes.substr(bytes.size() - std::min(bytes.size(), recent_bytes));
    recent_end_ = offset + bytes.size();
    lines_until_ = recent_end_ - recent_.size() + recent_.find_last_of("\n\r") + 1;
  } else {
    recent_ += bytes;
    recent_end_ = offset + bytes.size();
    std::vector<Event> told = look_at_lines(marks);
    std::move(told.begin(), told.end(), std::back_inserter(events));
  }
  if (recent_.size() > 2 * recent_bytes) recent_.erase(0, recent_.size() - recent_bytes);
  return events;
}

std::vector<Event> TrainingWatch::look_at_lines(const std::vector<const Event*>& marks) {
  std::vector<Event> told;
  const std::string_view text = recent_;
  const std::uint64_t begin = recent_end_ - text.size();
  // A line can be told of when those behind it have been looked at.
  std::uint64_t from = lines_until_;
  if (!marks.empty()) from = std::min(from, marks.front()->raw.offset);
  std::size_t at = std::max(from, begin) - begin;
  auto mark = marks.begin();
  for (std::size_t end = line_end(text, at); end != std::string_view::npos;
       end = line_end(text, at)) {
    for (; mark != marks.end() && (*mark)->raw.offset <= begin + at; ++mark)
      take(**mark, text.substr(0, at));
    if (!watched_.empty())
      count({text.substr(at, std::min(end - at, looked_bytes_max)), begin + at}, told);
    at = end + 1;
  }
  for (; mark != marks.end(); ++mark) take(**mark, text.substr(0, at));
  lines_until_ = begin + at;
  return told;
}

LinePrefix TrainingWatch::prefix_of(std::string_view line) const {
  return parse_job_prefix(line, JobLogHints{origin_.rank >= 0, origin_.nodes});
}

Instant TrainingWatch::time_of(const LinePrefix& prefix) const {
  const Instant written = known(origin_.last_written) ? origin_.last_written : now_;
  return resolve_time(prefix.time_form, prefix.time, {written, {}, {}}).at;
}

std::vector<Event> TrainingWatch::finish() {
  std::vector<Event> events = log_->finish();
  if (auto last = last_step()) events.push_back(*std::move(last));
  if (auto stalled = stall()) events.push_back(*std::move(stalled));
  return events;
}

std::string_view TrainingWatch::remembered() const {
  std::string_view text = recent_;
  if (recent_end_ <= recent_bytes) return text;
  text.remove_prefix(text.size() - recent_bytes);
  text.remove_prefix(std::min(line_end(text), text.size()));
  return text;
}

std::optional<Event> TrainingWatch::stall() const {
  const std::string_view text = remembered();
  StepPace pace;
  std::string_view stepped;  // the line of the last step
  each_line(text, [&](std::string_view line) {
    const std::string_view looked_at = line.substr(0, looked_bytes_max);
    const LinePrefix prefix = prefix_of(looked_at);
    if (pace.line(time_of(prefix), counted_step(looked_at.substr(prefix.body)))) stepped = line;
  });
  const auto stall = pace.stall();
  if (!stall) return std::nullopt;
  Event event;
  event.source = EventSource::launcher;
  event.kind = EventKind::progress_stalled;
  event.attempt = origin_.attempt.value_or(Subject::of_unnamed_job().attempt);
  event.subject = origin_.rank < 0 ? Subject::of_attempt(*event.attempt)
                                   : Subject::of_rank(*event.attempt, origin_.rank);
  event.observed_at = stall->until;
  event.fields = {{"silent_ms", milliseconds(stall->until - stall->since)},
                  {"usual_ms", milliseconds(stall->usual)},
                  {std::string(counted_field), "step"}};
  event.raw.path = origin_.path;
  event.raw.offset =
      recent_end_ - recent_.size() + static_cast<std::uint64_t>(stepped.data() - recent_.data());
  if (event.raw.offset < finished_at_) return std::nullopt;
  event.raw.text = printable(stepped, raw_text_bytes_max - 3);
  event.id = make_event_id(event);
  return event;
}

std::optional<Event> TrainingWatch::last_step() const {
  std::string_view text = remembered();
  while (!text.empty()) {
    text = text.substr(0, text.find_last_not_of("\r\n") + 1);
    const std::size_t begin = text.find_last_of("\r\n") + 1;
    const std::string_view line = text.substr(begin, looked_bytes_max);
    const auto offset =
        recent_end_ - recent_.size() + static_cast<std::uint64_t>(line.data() - recent_.data());
    text = text.substr(0, begin);
    const LinePrefix prefix = prefix_of(line);
    const std::string_view words = line.substr(prefix.body);
    // "StepId=9.batch" counts jobs.
    if (words.find("StepId=") != std::string_view::npos || !counted_step(words)) continue;
    const Instant at = time_of(prefix);
    if (!known(at)) return std::nullopt;
    Event event;
    event.source = EventSource::job_log;
    event.kind = EventKind::log_signature;
    event.signature = resumed_signature;
    event.attempt = origin_.attempt;
    event.subject =
        Subject::of_attempt(origin_.attempt.value_or(Subject::of_unnamed_job().attempt));
    event.fields.emplace(last_step_field,
                         std::to_string(at.time_since_epoch() / std::chrono::microseconds{1}));
    event.raw.path = origin_.path;
    event.raw.offset = offset;
    event.raw.text = printable(line, raw_text_bytes_max - 3);
    event.id = make_event_id(event);
    return event;
  }
  return std::nullopt;
}

void TrainingWatch::count(const Line& line, std::vector<Event>& told) {
  const LinePrefix prefix = prefix_of(line.text);
  const auto step = counted_step(line.text.substr(prefix.body));
  if (!step) return;
  const Instant at = time_of(prefix);
  const std::int32_t rank = rank_of({}, prefix, origin_);
  std::erase_if(watched_, [&](Said& said) {
    if (line.offset < said.looked_until) return false;
    said.looked_until = line.offset + 1;
    if (may_be_before(said, line, at)) {
      said.last_step = std::max(said.last_step, *step);
      return false;
    }
    const auto spoke = parse_number<std::int32_t>(said.event.field("rank"));
    const bool own = rank < 0 || !spoke || rank == *spoke;
    if (own) {
      count_step(*step, said.last_step, said.own_step, said.own_steps);
    } else {
      count_step(*step, said.last_step, said.others_step, said.others_steps);
    }
    const bool goes_on =
        said.own_steps >= steps_after_min || said.others_steps >= steps_of_others_min;
    if (goes_on) told.push_back(sign_of_life(said, line, *step, at));
    return goes_on;
  });
}

/// Printed before the words, and written behind them.
bool TrainingWatch::may_be_before(const Said& said, const Line& line, Instant at) {
  if (known(at) && known(said.event.observed_at)) return at <= said.event.observed_at;
  return line.offset - said.event.raw.offset <= held_back_bytes;
}

Event TrainingWatch::sign_of_life(const Said& said, const Line& line, std::int64_t step,
                                  Instant at) const {
  Event event = said.event;
  event.signature = resumed_signature;
  event.fields.emplace(went_on_field, std::to_string(step));
  event.fields.emplace(went_on_after_field, said.event.id);
  event.observed_at = at;
  event.raw.offset = line.offset;
  event.raw.text = printable(line.text, raw_text_bytes_max - 3);
  event.id = make_event_id(event);
  return event;
}

}  // namespace faultline
