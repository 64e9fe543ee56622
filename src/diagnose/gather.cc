#include "diagnose/gather.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "diagnose/event_shares.h"
#include "diagnose/file_decoder.h"
#include "diagnose/job_nodes.h"
#include "diagnose/losses.h"
#include "diagnose/name_hint.h"
#include "diagnose/printed_dates.h"
#include "diagnose/report.h"
#include "diagnose/unwrapping_reader.h"
#include "diagnose/utf8_reader.h"
#include "ingest/shell_prompt.h"

namespace faultline {
namespace {

/// In blocks of a fixed size, which the compiler turns into vector instructions: this looks at
/// every byte that is read.
std::uint64_t count_lines(std::string_view text) {
  constexpr std::size_t block = 128;
  std::uint64_t lines = 0;
  for (; text.size() >= block; text.remove_prefix(block)) {
    std::uint8_t here = 0;
    for (std::size_t i = 0; i < block; ++i)
      here = static_cast<std::uint8_t>(here + (text[i] == '\n' ? 1 : 0));
    lines += here;
  }
  return lines + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The number of the line that begins at an offset, as chunks go by.
class LineCounter {
 public:
  explicit LineCounter(std::uint64_t lines_before) : lines_before_(lines_before) {}

  /// Events of `chunk` or of the line that it finishes.
  void number(const std::vector<Event>& events, std::string_view chunk, std::uint64_t offset,
              LineNumbers& lines) {
    std::uint64_t line = lines_before_ + 1;
    std::uint64_t counted = 0;
    for (const Event* event : in_order(events)) {
      const std::uint64_t at = event->raw.offset;
      if (at < offset) {
        lines.emplace(event->id, chunk.empty() ? line_in_last(at) : lines_before_ + 1);
        continue;
      }
      const std::uint64_t until = std::min<std::uint64_t>(at - offset, chunk.size());
      line += count_lines(chunk.substr(counted, until - counted));
      counted = until;
      lines.emplace(event->id, line);
    }
    if (!chunk.empty()) last_ = {chunk, offset, lines_before_};
    lines_before_ += count_lines(chunk);
  }

 private:
  struct Chunk {
    std::string_view text;
    std::uint64_t offset = 0;
    std::uint64_t lines_before = 0;
  };

  /// At the end of a file its last chunk is still there, and whoever waited for the end speaks of
  /// it.
  [[nodiscard]] std::uint64_t line_in_last(std::uint64_t at) const {
    if (at < last_.offset) return lines_before_ + 1;
    return last_.lines_before + 1 + count_lines(last_.text.substr(0, at - last_.offset));
  }

  /// As they lie in the file: a dump's come group by group.
  static std::vector<const Event*> in_order(const std::vector<Event>& events) {
    std::vector<const Event*> ordered;
    ordered.reserve(events.size());
    for (const Event& event : events) ordered.push_back(&event);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Event* a, const Event* b) { return a->raw.offset < b->raw.offset; });
    return ordered;
  }
  std::uint64_t lines_before_;
  Chunk last_;
};

/// As much as there is, up to the size of `into`; less at the end, or where the reader failed.
std::size_t fill(InputReader& reader, std::span<char> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const auto bytes = reader.read(into.subspan(filled));
    if (!bytes || bytes.value() == 0) break;
    filled += bytes.value();
  }
  return filled;
}

/// A log that a rank wrote says that there is such a rank, whatever else is in it.
std::optional<Event> rank_seen(const InputFile& file, std::string_view head, ContentKind kind) {
  const Origin origin = origin_of(file, EventSource::job_log, head);
  if (kind != ContentKind::job_log || origin.rank < 0) return std::nullopt;
  Event event;
  event.source = EventSource::launcher;
  event.kind = EventKind::rank_started;
  event.attempt = origin.attempt;
  event.subject = Subject::of_rank(*origin.attempt, origin.rank);
  event.fields = {{"log", printable(file.name, field_bytes_max)}};
  event.raw.path = file.name;
  event.id = make_event_id(event);
  return event;
}

/// Protocol 0, or 2 to 5, and no checkpoint as PyTorch wrote them before 1.6.
bool is_pickle(std::string_view head) {
  constexpr std::string_view checkpoint = "\x80\x02\x8a\nl\xfc\x9c";
  if (is_pickle_text(head)) return true;
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
         !head.starts_with(checkpoint);
}

/// A file that was truncated while its writer had it open begins with a hole of NUL bytes.
std::string_view behind_hole(std::string_view head) {
  constexpr std::size_t hole_bytes_min = 16;  // fewer may be wide characters
  const auto hole = std::min(head.find_first_not_of('\0'), head.size());
  return hole < hole_bytes_min || hole == head.size() ? head : head.substr(hole);
}

/// By its beginning; but a job that first prints its node's kernel log goes on with its own lines.
/// What is a pickle and named like a rank's dump may be one that is damaged, or that was made to do
/// harm: its decoder says so.
ContentKind kind_of(std::string_view head, const std::string& name) {
  const ContentKind kind = content_kind(head.substr(0, content_head_bytes));
  if (is_pickle(head) && kind != ContentKind::flight_recorder_pickle)
    return trailing_rank(name) >= 0 ? ContentKind::flight_recorder_pickle : ContentKind::binary;
  if (kind != ContentKind::kernel_log || head.size() <= content_head_bytes) return kind;
  const std::string_view tail = head.substr(head.size() - content_head_bytes);
  const ContentKind later = content_kind(tail.substr(tail.find('\n') + 1));
  return later == ContentKind::job_log ? later : kind;
}

/// A pickle has none that anybody could go to.
bool has_lines(ContentKind kind) { return kind != ContentKind::flight_recorder_pickle; }

}  // namespace

void Gatherer::read(const InputFile& file, InputReader& bytes_of_file) {
  Utf8Reader text(bytes_of_file);
  UnwrappingReader reader(text);
  buffer_.resize(read_bytes);
  const std::size_t bytes = fill(reader, buffer_);
  const std::string_view head(buffer_.data(), bytes);
  if (head.starts_with(page_head)) {
    warn({file.name, "is a page of faultline's own", "all of it", false});
    return;
  }
  const Instant written = known(file.modified) ? file.modified : now_;
  Stretch all{.dates = printed_dates(head, written, now_)};
  InputFile dated = file;
  if (const Instant before = written_before(all.dates, written); before != written)
    dated.modified = std::min(before, now_);
  const std::vector<SessionPart> parts =
      bytes < buffer_.size() ? session_parts(head) : std::vector<SessionPart>{};
  if (parts.empty()) return decode(dated, head, all, reader);
  for (const SessionPart& part : parts) {
    Stretch stretch = all;
    stretch.offset = part.offset;
    stretch.lines_before = count_lines(head.substr(0, part.offset));
    stretch.of_session = true;
    dated.prompt_host = part.host;
    decode(dated, part.text, stretch, reader);
  }
}

/// `head` lies in the buffer; more is read from `rest` where it fills that.
void Gatherer::decode(const InputFile& file, std::string_view head, const Stretch& stretch,
                      InputReader& rest) {
  ReadFile seen;
  seen.file = file;
  seen.kind = kind_of(behind_hole(head), file.name);
  seen.bytes = head.size();
  seen.dates = stretch.dates;
  if (seen.kind == ContentKind::job_log) seen.nodes = nodes_printed_by_job(head);
  Counters counted;  // of this stretch alone
  const auto decoder = make_file_decoder(seen.kind, file, head, databases_, counted, now_);
  if (decoder == nullptr) {
    if (stretch.of_session) return;  // a script that somebody looked at
    if (seen.kind != ContentKind::empty)
      warn({file.name, "is of a kind that is not read: " + std::string(to_text(seen.kind)),
            "all of it", false});
    gathered_.files.push_back(std::move(seen));
    return;
  }
  FileEvents own(gathered_, shares_);
  if (auto rank = rank_seen(file, head, seen.kind)) own.add({std::move(*rank)});
  LineCounter counter(stretch.lines_before);
  Losses losses;
  std::uint64_t offset = stretch.offset;
  const auto keep = [&](std::vector<Event> events, std::string_view chunk) {
    counter.number(events, chunk, offset, gathered_.lines);
    losses.add(events);
    own.add(std::move(events));
  };
  for (std::string_view chunk = head; !chunk.empty();) {
    keep(decoder->feed(chunk, offset), chunk);
    offset += chunk.size();
    seen.bytes = offset - stretch.offset;
    if (progress_) progress_(chunk.size());
    const std::size_t more = chunk.size() < buffer_.size() ? 0 : fill(rest, buffer_);
    chunk = std::string_view(buffer_).substr(0, more);
  }
  std::vector<Event> last = decoder->finish();
  if (const std::string_view document = decoder->document(); !document.empty()) {
    if (has_lines(seen.kind))
      LineCounter(stretch.lines_before).number(last, document, 0, gathered_.lines);
    for (Event& event : last) event.raw.offset += stretch.offset;
    own.add(std::move(last));
  } else {
    keep(std::move(last), {});
  }
  std::string trouble = decoder->trouble();
  seen.understood = trouble.empty();
  if (!seen.understood) warn({file.name, std::move(trouble), "what could not be understood"});
  const CounterValues values = counted.snapshot();
  losses.add(values);
  for (InputWarning& warning : losses.warnings(seen)) warn(std::move(warning));
  for (const auto& [name, value] : values) counters_.add(name, value);
  own.finish(std::move(seen));
}

void merge(Gathered& into, Gathered from) {
  const auto append = [](auto& to, auto& more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
  };
  append(into.files, from.files);
  append(into.events, from.events);
  into.sharing += from.sharing;
  append(into.warnings, from.warnings);
  into.lines.merge(from.lines);
}

}  // namespace faultline
