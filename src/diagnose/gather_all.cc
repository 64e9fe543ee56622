#include "diagnose/gather_all.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

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
        results_(listing.sources.size()) {}

  /// Takes one source after the other until there are no more.
  void work() {
    Gatherer gatherer(databases_, counters_, now_, [this](std::size_t bytes) { tell(bytes, 0); });
    while (true) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= listing_.sources.size()) return;
      listing_.sources[next]->visit(
          [&](const InputFile& file, InputReader& reader) { gatherer.read(file, reader); },
          [&](InputWarning warning) { gatherer.warn(std::move(warning)); });
      results_[next] = gatherer.take();
      tell(0, 1);
    }
  }

  Gathered take() {
    Gathered all;
    for (InputWarning& warning : listing_.warnings) all.warnings.push_back(std::move(warning));
    for (Gathered& result : results_) merge(all, std::move(result));
    return all;
  }

 private:
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
  std::vector<Gathered> results_;
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
