// The events of all logs and records of one diagnosis have a common limit, whatever the number of
// files and the length of each. Where they would be more, those files that have most keep their
// first and their last ones: a log's first errors name the cause, its last ones the end. What
// collective traces tell of is not in it: it is bounded by ranks, groups and lanes, of each dump by
// itself, and grows with the number of dumps. Nor is it where every file has one event: one stays
// of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "diagnose/gather.h"

namespace faultline {

/// About 1 KiB each, and at the peak, with the copies that the replay of a run needs, three: the
/// 300 MiB that a diagnosis may take. 4,096 ranks have 16 each, which is more than most say as they
/// die.
inline constexpr std::size_t events_max = std::size_t{1} << 16U;

/// Thread-safe.
class EventShares {
 public:
  explicit EventShares(std::size_t events = events_max) : events_(events), share_(events) {}

  /// A file was read to its end, and had this many.
  void add(std::size_t events);
  /// So many may each file keep: with them, all that were read to their end keep to the limit. It
  /// only ever falls, and its last value does not depend on the order of the files.
  [[nodiscard]] std::size_t share() const { return share_; }
  /// What is held of those that share has grown so far beyond the limit that thinning is worth its
  /// work, and the share has fallen since all of it was thinned to `thinned_to`.
  [[nodiscard]] bool worth_thinning(std::size_t held, std::size_t thinned_to) const {
    return held > events_ + events_ / 4 && share_ < thinned_to;
  }

 private:
  const std::size_t events_;
  std::atomic<std::size_t> share_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> files_by_events_;
  std::size_t events_of_all_ = 0;
};

/// The events of one file while it is read: the last ones of what is gathered.
class FileEvents {
 public:
  FileEvents(Gathered& gathered, EventShares& shares)
      : gathered_(gathered), shares_(shares), begin_(gathered.events.size()) {}

  void add(std::vector<Event> events);
  /// At the end of the file: its counts, and it goes to the others.
  void finish(ReadFile file);

 private:
  void thin_own();

  Gathered& gathered_;
  EventShares& shares_;
  std::size_t begin_;
  std::size_t events_ = 0;   // that there were
  std::size_t sharing_ = 0;  // of those
  std::size_t left_out_ = 0;
};

/// Thins every file to its share. What goes has no line number any more.
void thin(Gathered& gathered, std::size_t share);
/// One for each file that lost events by this.
std::vector<InputWarning> thinning_warnings(const std::vector<ReadFile>& files);

}  // namespace faultline
