#include "ingest/record_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t batch_bytes_max = std::size_t{64} << 10U;  // decoded at once

}  // namespace

RecordLines::RecordLines(const SystemDatabases& databases, const Origin& origin, Counters& counters,
                         const DecoderLimits& limits)
    : kernel_(open(databases.kernel, EventSource::kernel_log, origin, counters, limits)),
      scheduler_(open(databases.scheduler, EventSource::scheduler, origin, counters, limits)) {}

RecordLines::Lane RecordLines::open(std::shared_ptr<const SignatureDatabase> database,
                                    EventSource source, Origin origin, Counters& counters,
                                    const DecoderLimits& limits) {
  Lane lane;
  if (database == nullptr) return lane;
  origin.source = source;
  lane.decoder =
      std::make_unique<LogDecoder>(std::move(database), std::move(origin), counters, limits);
  return lane;
}

void RecordLines::add(const LogRecord& record, Instant now) {
  Lane& lane = record.source == EventSource::kernel_log ? kernel_ : scheduler_;
  if (lane.decoder == nullptr) return;
  lane.marks.push_back(
      {lane.text_offset + lane.text.size(), record.offset, std::string(record.boot_id)});
  for (const std::string_view line : split(record.message, '\n')) {
    // A carriage return would end the line for the decoder, and what follows would have no head.
    lane.text += record.head;
    std::replace_copy(line.begin(), line.end(), std::back_inserter(lane.text), '\r', ' ');
    lane.text += '\n';
  }
  if (lane.text.size() >= batch_bytes_max) decode(lane, now);
}

void RecordLines::decode(Lane& lane, Instant now) {
  if (lane.text.empty()) return;
  auto events = lane.decoder->feed(lane.text, lane.text_offset, now);
  place(lane, events);
  std::move(events.begin(), events.end(), std::back_inserter(lane.events));
  lane.text_offset += lane.text.size();
  lane.text.clear();
  lane.marks.clear();
}

void RecordLines::place(const Lane& lane, std::vector<Event>& events) {
  for (Event& event : events) {
    const auto after =
        std::upper_bound(lane.marks.begin(), lane.marks.end(), event.raw.offset,
                         [](std::uint64_t at, const Mark& mark) { return at < mark.line_offset; });
    if (after == lane.marks.begin()) continue;  // a gap, which has no line
    const Mark& mark = *std::prev(after);
    event.raw.offset = mark.offset;
    if (!mark.boot_id.empty()) event.raw.boot_id = mark.boot_id;
    event.id = make_event_id(event);
  }
}

std::vector<Event> RecordLines::take(Instant now) {
  decode(kernel_, now);
  decode(scheduler_, now);
  auto events = std::exchange(kernel_.events, {});
  std::move(scheduler_.events.begin(), scheduler_.events.end(), std::back_inserter(events));
  scheduler_.events.clear();
  return events;
}

std::vector<Event> RecordLines::finish(Instant now) {
  auto events = take(now);
  for (Lane* lane : {&kernel_, &scheduler_}) {
    if (lane->decoder == nullptr) continue;
    auto last = lane->decoder->finish(now);
    std::move(last.begin(), last.end(), std::back_inserter(events));
  }
  return events;
}

}  // namespace faultline
