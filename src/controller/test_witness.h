// The site's own node test as a second witness. A verdict that stands on a job's words alone is
// confirmed when its node fails the test and cleared when it passes; others need no such help.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "catalog/catalog.h"
#include "model/event.h"
#include "model/verdict.h"

namespace faultline {

/// Results that are remembered of one node; a node is tested once an hour at most.
inline constexpr std::size_t tests_per_node_max = 32;

class TestWitness {
 public:
  explicit TestWitness(const Catalog& catalog) : catalog_(catalog) {}

  /// True if the event is the result of a test.
  bool observe(const Event& event);
  /// The verdict as it stands after the first test that ended after what it says began. The same
  /// events give the same answer, live or replayed.
  [[nodiscard]] Verdict heard(Verdict verdict) const;

 private:
  const Catalog& catalog_;
  std::map<std::string, std::deque<Event>> results_;  // by node, oldest first
};

}  // namespace faultline
