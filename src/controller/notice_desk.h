// What people are told, and when: one notice for one fault, and another only when what is done
// about it is not what they heard. A page waits for the acts that are on their way, so that it can
// say how they ended, but not for long.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "controller/incidents.h"
#include "controller/ports.h"
#include "store/store.h"

namespace faultline {

/// The deadline of a requeue. A node's test may take longer, and is news of its own.
inline constexpr Duration notice_wait = std::chrono::minutes{1};

/// What is held is nobody's news: it was silenced, or is not sure enough.
bool is_told_of(const Decision& decision);

class NoticeDesk {
 public:
  struct Due {
    std::vector<Notice> notices;
    Status trouble = ok_status();  // of the store; what it concerns is left for later
  };
  /// Both must outlive the desk.
  NoticeDesk(const Catalog& catalog, Store& store) : catalog_(catalog), store_(store) {}

  /// Something about the incident was decided, or came of it.
  void look_at(const std::string& incident, Instant now);
  /// What is to be told now; `book` has it as said. The notices' incidents have it as told, to be
  /// stored once people have them.
  Due due(IncidentBook& book, Instant now);

 private:
  struct Waiting {
    Instant since;
    bool looked_at = true;  // since it was last found waiting
  };
  /// True if that is over: people were told, or have heard it already.
  Result<bool> tell(IncidentBook& book, const std::string& id, bool waited,
                    std::vector<Notice>& notices);
  const Catalog& catalog_;
  Store& store_;
  std::map<std::string, Waiting> waiting_;  // by incident
};

}  // namespace faultline
