// Nodes that the scheduler shows drained by a faultline whose acts are not in this store: the store
// is another one than then, or was lost. Nobody returns them unless somebody is told.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/cluster_view.h"
#include "store/store.h"

namespace faultline {

/// Of the polling thread.
class StrayDrains {
 public:
  /// What to tell an operator of such nodes that were not told of before. Asks the store once about
  /// each drain; when it does not answer, again with the next view.
  std::optional<std::string> look(const ClusterView& view, Store& store);

 private:
  std::map<std::string, std::string> looked_at_;  // node -> reason of its drain
};

}  // namespace faultline
