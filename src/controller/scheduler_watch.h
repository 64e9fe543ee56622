// Turns successive views of the scheduler into events: attempts that started and ended, nodes whose
// state changed. Pure: two views in, events out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/cluster_view.h"
#include "model/event.h"

namespace faultline {

class SchedulerWatch {
 public:
  /// The events that lead from the last view to `view`. The first view yields every running attempt
  /// and every node that is out of service, so that a controller that was away learns what it
  /// missed; event ids make repeats harmless.
  std::vector<Event> update(const ClusterView& view);

 private:
  void watch_attempts(const ClusterView& view, std::vector<Event>& events);
  void watch_nodes(const ClusterView& view, std::vector<Event>& events);

  std::map<AttemptId, Attempt> attempts_;
  std::map<std::string, SchedulerNode, std::less<>> nodes_;
};

Event attempt_event(EventKind kind, const Attempt& attempt, Instant at);
Event node_event(const SchedulerNode& node, Instant at);

}  // namespace faultline
