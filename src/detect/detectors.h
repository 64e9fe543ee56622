// All detectors as one. They are looked at by the clock of the events, on a grid that does not
// depend on who asks when: a controller that starts again and is told two days of events at once
// comes to the verdicts, and to the ids, of the one that had lived through them.
#pragma once

#include <memory>
#include <vector>

#include "detect/detector.h"

namespace faultline {

/// The grid while events come: the tick of the controller's judge.
inline constexpr Duration look_interval = std::chrono::milliseconds{100};
/// Nothing settles within less than seconds once it has been quiet for `quiet_min`, and nothing at
/// all but "it still runs elsewhere" after `silence_min`, when all failures are closed.
inline constexpr Duration quiet_min = std::chrono::seconds{10};
inline constexpr Duration quiet_look_interval = std::chrono::seconds{1};
inline constexpr Duration silence_min = std::chrono::minutes{10};
inline constexpr Duration silence_look_interval = std::chrono::seconds{10};
/// How often a past is looked at in which nothing was decided: what holds is found as well later,
/// and no detector forgets within this what it has not looked at (half an hour is the shortest
/// memory).
inline constexpr Duration skim_look_interval = std::chrono::minutes{15};
/// A `now` that is further back than this is a clock that was set back, and the grid follows it.
inline constexpr Duration clock_set_back_min = std::chrono::seconds{1};

class Detectors {
 public:
  /// `catalog` must outlive it.
  explicit Detectors(const Catalog& catalog);

  /// First looks at what came before the event, as often as it would have been looked at then.
  void observe(const Event& event);
  /// The same of an event of the past before which nobody waited for a verdict. What a flood of
  /// lines costs is then to take them in.
  void skim(const Event& event);
  /// Looks at every point of the grid up to `now`, and passes on what was raised since the last
  /// call, each verdict as it is now.
  void evaluate(Instant now, VerdictSink& verdicts);
  /// What was raised before `since` and not passed on yet is known already: it stays unsaid.
  void drop_before(Instant since);

 private:
  struct Raised {
    Instant at;
    Verdict verdict;
  };
  void take(const Event& event);
  void look_until(Instant end);
  void look(Instant now);
  void look_behind_news(Instant before);
  [[nodiscard]] Instant next_look() const;

  std::vector<std::unique_ptr<Detector>> detectors_;
  Duration catch_up_max_;  // older than this no failure counts any more
  Instant looked_until_;
  Instant looked_at_;
  bool skimming_ = false;
  Instant heard_at_;  // the latest event
  std::vector<Raised> raised_;
};

}  // namespace faultline
