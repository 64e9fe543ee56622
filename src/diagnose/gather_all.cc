#include "diagnose/gather_all.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "diagnose/event_shares.h"
#include "diagnose/name_hint.h"

namespace faultline {
namespace {

class Crew {
 public:
  Crew(InputListing& listing, const LogDatabases& databases, Counters& counters, Instant now,
       const GatherProgress& progress)
      : listing_(listing),
        databases_(databases),
        counters_(counters),
        now_(now),
        progress_(progress),
        results_(listing.sources.size()) {
    std::vector<std::string> names;
    for (const auto& source : listing.sources) names.push_back(source->file().name);
    numbers_ = numbers_among_siblings(names);
  }

  /// Takes one source after the other until there are no more.
  void work() {
    Gatherer gatherer(databases_, counters_, shares_, now_,
                      [this](std::size_t bytes) { tell(bytes, 0); });
    while (true) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= listing_.sources.size()) return;
      listing_.sources[next]->visit(
          [&](InputFile file, InputReader& reader) {
            const auto number = numbers_.find(file.name);
            if (number != numbers_.end()) file.number_among_siblings = number->second;
            gatherer.read(file, reader);
          },
          [&](InputWarning warning) { gatherer.warn(std::move(warning)); });
      keep(next, gatherer.take());
      tell(0, 1);
    }
  }

  Gathered take() {
    Gathered all;
    for (InputWarning& warning : listing_.warnings) all.warnings.push_back(std::move(warning));
    for (Gathered& result : results_) merge(all, std::move(result));
    thin(all, shares_.share());
    for (InputWarning& warning : thinning_warnings(all.files))
      all.warnings.push_back(std::move(warning));
    return all;
  }

 private:
  void keep(std::size_t source, Gathered gathered) {
    const std::lock_guard lock(mutex_);
    const std::size_t share = shares_.share();
    if (share < gathered.share) thin(gathered, share);
    held_ += gathered.sharing;
    results_[source] = std::move(gathered);
    if (!shares_.worth_thinning(held_, thinned_to_)) return;
    held_ = 0;
    thinned_to_ = share;
    for (Gathered& result : results_) {
      thin(result, share);
      held_ += result.sharing;
    }
  }

  void tell(std::size_t bytes, std::size_t files) {
    const std::lock_guard lock(mutex_);
    done_ += files;
    bytes_ += bytes;
    progress_(done_, listing_.sources.size(), bytes_);
  }

  InputListing& listing_;
  const LogDatabases& databases_;
  Counters& counters_;
  Instant now_;
  const GatherProgress& progress_;
  EventShares shares_;
  std::map<std::string, std::int32_t> numbers_;  // by file
  std::vector<Gathered> results_;
  std::size_t held_ = 0;  // events in them that share the limit
  std::size_t thinned_to_ = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Gathered gather_all(InputListing listing, const LogDatabases& databases, Counters& counters,
                    Instant now, std::size_t threads, const GatherProgress& progress) {
  Crew crew(listing, databases, counters, now, progress);
  const std::size_t others = std::min(threads, listing.sources.size());
  {
    std::vector<std::jthread> hands;
    for (std::size_t i = 1; i < others; ++i) hands.emplace_back([&crew] { crew.work(); });
    crew.work();
  }
  return crew.take();
}

}  // namespace faultline
