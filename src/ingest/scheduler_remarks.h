// What a scheduler says of a node or a job inside a record, a node's reason or an event's message,
// found in the catalog as if it stood in the scheduler's log.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "ingest/log_decoder.h"
#include "ingest/signature_engine.h"
#include "model/event.h"

namespace faultline {

/// Not thread-safe.
class SchedulerRemarks {
 public:
  /// `database`: of the scheduler's layers; nullptr finds nothing.
  SchedulerRemarks(std::shared_ptr<const SignatureDatabase> database, const Origin& origin,
                   Counters& counters);

  /// The log_signature events of `line`, which is spelt as the scheduler's log or its client would.
  /// Time, attempt and raw line are those of `record`; `host` and `jobid` of the record stand in
  /// where the line names none.
  std::vector<Event> of(std::string_view line, const Event& record);
  /// Those of a node's reason, as slurmctld logs it when it is set. `seen` is the node_seen event.
  std::vector<Event> of_reason(const Event& seen);

 private:
  std::unique_ptr<SignatureEngine> engine_;
  Origin origin_;
};

}  // namespace faultline
