// A bounded memory of events. Order is by when things happened, so a line that comes late lands
// where it belongs and the rules that read the window need not care; a line that comes twice is
// kept once.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "model/event.h"

namespace faultline {

struct Cause;
struct Signature;

/// Characters of a raw line that a detector keeps: enough to compare exceptions, not enough to fill
/// memory.
inline constexpr std::size_t fact_text_bytes_max = 256;

/// What a job prints as the time may be of any zone. Further back than this it is not taken for the
/// time of the event.
inline constexpr Duration printed_age_max = std::chrono::minutes{10};

/// An event as a detector remembers it.
struct Fact {
  Event event;
  Instant at;       // when it happened, as well as is known
  Instant arrived;  // when it was learnt, on the controller's clock
  /// Of the catalog, where whoever keeps it has looked them up: judging does so again and again.
  const Signature* signature = nullptr;
  const Cause* cause = nullptr;
};

/// A window lets go of the oldest again and again, which must not cost a walk over the others.
using Facts = std::deque<Fact>;

/// Facts of one or more windows, ordered by time.
using FactList = std::vector<const Fact*>;

/// Pointers to all of them.
FactList list_of(const Facts& facts);

/// When the event happened: its own stamp, but never later than it was received (a clock ahead of
/// ours does not make an event of the future).
Instant happened_at(const Event& event);

/// When the event was learnt: received_at, or its own stamp where nobody noted that.
Instant learnt_at(const Event& event);

/// The node that the event speaks of, or else the one that reported it; "" if neither is known.
const std::string& node_of(const Event& event);

/// What a full window lets go: in a flood it is the first lines that name the cause; a long memory
/// would be deaf after one.
enum class WhenFull { drop_newest, drop_oldest };

class EventWindow {
 public:
  /// Beyond `facts_max` facts are dropped and counted.
  explicit EventWindow(std::size_t facts_max, WhenFull when_full = WhenFull::drop_newest)
      : facts_max_(facts_max), when_full_(when_full) {}

  /// False if the event is known already or there is no room for it. The last quarter of the room
  /// is for events that may be a `root`: what a fault makes its neighbours say must not keep out
  /// the fault itself.
  bool add(const Event& event, bool root = true, const Signature* signature = nullptr,
           const Cause* cause = nullptr);
  /// Forgets what happened before `limit`; false if there was nothing of that.
  bool forget_before(Instant limit);
  void clear();

  /// Ordered by `at`, then in the order of arrival.
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  std::size_t facts_max_;
  WhenFull when_full_;
  std::size_t dropped_ = 0;
  Facts facts_;
  std::unordered_set<EventId> known_;
};

}  // namespace faultline
