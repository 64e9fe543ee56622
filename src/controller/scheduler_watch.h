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
  /// The nodes as an earlier life of the controller saw them last. What changed since is news: a
  /// node that was up then and is down now was lost while nobody looked.
  void resume(const ClusterView& last);
  /// The events that lead from the last view to `view`. The first sight of a node is what it is
  /// measured by from then on and no news, also if it is down: nobody knows since when, and
  /// somebody may be at work on it. The first view yields every attempt that runs, so that a
  /// controller that was away learns what it missed; event ids make repeats harmless.
  std::vector<Event> update(const ClusterView& view);

 private:
  void watch_attempts(const ClusterView& view, std::vector<Event>& events);
  void watch_nodes(const ClusterView& view, std::vector<Event>& events);

  std::map<AttemptId, Attempt> attempts_;
  std::map<std::string, SchedulerNode, std::less<>> nodes_;
  Instant viewed_at_;
};

}  // namespace faultline
