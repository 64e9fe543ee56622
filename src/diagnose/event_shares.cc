#include "diagnose/event_shares.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace faultline {
namespace {

/// The most that each of these files may keep, so that they have `events` together; at least one.
std::size_t fair_share(const std::map<std::size_t, std::size_t>& files_by_events,
                       std::size_t events) {
  std::size_t files = 0;
  for (const auto& [own, count] : files_by_events) files += count;
  for (const auto& [own, count] : files_by_events) {
    if (own > events / files) return std::max<std::size_t>(1, events / files);
    events -= own * count;
    files -= count;
    if (files == 0) break;
  }
  return events;
}

/// Traces tell of ranks by being there, and each has its own limits; all together have none.
bool shares_limit(const Event& event) { return event.source != EventSource::collective_trace; }

std::size_t count_sharing(const std::vector<Event>& events, std::size_t begin) {
  return static_cast<std::size_t>(std::count_if(events.begin() + static_cast<std::ptrdiff_t>(begin),
                                                events.end(), shares_limit));
}

/// Of the events from `begin` on, those of one file, its first and last ones stay. The number of
/// those that went.
std::size_t keep_ends(std::vector<Event>& events, std::size_t begin, std::size_t share,
                      LineNumbers& lines) {
  const std::size_t sharing = count_sharing(events, begin);
  if (sharing <= share) return 0;
  const std::size_t first = share - share / 2, last = sharing - share / 2;
  std::size_t place = 0;
  const auto goes = [&](const Event& event) {
    if (!shares_limit(event)) return false;
    const bool between = place >= first && place < last;
    ++place;
    if (between) lines.erase(event.id);
    return between;
  };
  const auto from = events.begin() + static_cast<std::ptrdiff_t>(begin);
  auto kept = from;
  for (auto event = from; event != events.end(); ++event) {
    if (goes(*event)) continue;
    if (kept != event) *kept = std::move(*event);
    ++kept;
  }
  events.erase(kept, events.end());
  return sharing - share;
}

}  // namespace

void EventShares::add(std::size_t events) {
  const std::lock_guard lock(mutex_);
  ++files_by_events_[events];
  events_of_all_ += events;
  if (events_of_all_ > events_) share_ = fair_share(files_by_events_, events_);
}

void FileEvents::add(std::vector<Event> events) {
  const std::size_t sharing = count_sharing(events, 0);
  events_ += events.size();
  sharing_ += sharing;
  gathered_.sharing += sharing;
  std::move(events.begin(), events.end(), std::back_inserter(gathered_.events));
  const std::size_t share = shares_.share();
  if (sharing_ - left_out_ > share + share / 4) thin_own();
}

void FileEvents::finish(ReadFile file) {
  shares_.add(sharing_);
  thin_own();
  file.events = events_;
  file.held = gathered_.events.size() - begin_;
  file.left_out = left_out_;
  gathered_.files.push_back(std::move(file));
  if (shares_.worth_thinning(gathered_.sharing, gathered_.share)) thin(gathered_, shares_.share());
}

void FileEvents::thin_own() {
  const std::size_t gone = keep_ends(gathered_.events, begin_, shares_.share(), gathered_.lines);
  left_out_ += gone;
  gathered_.sharing -= gone;
}

void thin(Gathered& gathered, std::size_t share) {
  std::vector<Event> all;
  auto next = gathered.events.begin();
  for (ReadFile& file : gathered.files) {
    const std::size_t begin = all.size();
    const auto end = next + static_cast<std::ptrdiff_t>(file.held);
    std::move(next, end, std::back_inserter(all));
    next = end;
    const std::size_t gone = keep_ends(all, begin, share, gathered.lines);
    file.left_out += gone;
    file.held = all.size() - begin;
    gathered.sharing -= gone;
  }
  gathered.events = std::move(all);
  gathered.share = share;
}

std::vector<InputWarning> thinning_warnings(const std::vector<ReadFile>& files) {
  std::vector<InputWarning> warnings;
  for (const ReadFile& file : files) {
    if (file.left_out == 0) continue;
    warnings.push_back({file.file.name,
                        "has " + std::to_string(file.left_out) +
                            (file.left_out == 1 ? " line" : " lines") +
                            " of interest beyond what is kept of all files together",
                        "those between its first and its last ones"});
  }
  return warnings;
}

}  // namespace faultline
