// The way out: every event goes to the spool first and to the controller from there, in batches,
// until it is acknowledged. A controller that does not take a batch is asked again with growing
// pauses, each agent at its own moments. Heartbeats wait for neither: an agent with a long backlog
// is not a lost one.
#pragma once

#include <string>
#include <vector>

#include "agent/ports.h"
#include "agent/spool.h"
#include "agent/uplink_report.h"
#include "base/clock.h"
#include "base/counters.h"

namespace faultline {

class Outbox {
 public:
  struct Limits {
    std::size_t batch_events_max = 500;
    std::size_t batch_bytes_max = 256 * 1024;
    Duration batch_delay = std::chrono::milliseconds{200};
    Duration heartbeat = std::chrono::seconds{1};
    Duration counters_every = std::chrono::seconds{10};  // they travel with a heartbeat
    Duration send_deadline = std::chrono::seconds{2};
    Duration pause_min = std::chrono::milliseconds{500};
    Duration pause_max = std::chrono::seconds{10};
    Duration dropped_every = std::chrono::minutes{1};  // between two words on what had no room
  };

  Outbox(std::string node, Spool& spool, Uplink& uplink, const Clock& clock, Counters& counters,
         Limits limits);

  /// Completes the event (reporter, id) and takes it; one that no controller would accept is
  /// counted and dropped.
  void add(Event event);
  /// Puts what was added on disk, in memory while that refuses. True if there was something.
  bool keep();
  /// All that was kept is on disk: cursors may be moved past it.
  [[nodiscard]] bool durable() const { return spool_.durable(); }
  /// Sends the heartbeat and what else is due.
  void turn();
  /// Sends all that can be sent until `deadline` (monotonic), for the end of the program.
  void flush(Duration deadline);
  /// How long nothing will be due.
  [[nodiscard]] Duration idle_time() const;

 private:
  bool send_batch(Duration deadline);
  /// The heartbeat, if it is due. False if the controller could not be reached when last tried.
  bool beat();
  void pause_batches();
  void say_dropped();

  std::string node_;
  Spool& spool_;
  Uplink& uplink_;
  const Clock& clock_;
  Counters& counters_;
  Limits limits_;
  UplinkReport uplink_report_;
  std::vector<std::string> added_;
  std::uint64_t dropped_ = 0;    // and not said yet
  Duration dropped_say_due_{0};  // when that may next be said
  bool disk_refuses_ = false;
  /// Shrinks while the controller refuses a batch, to find the event at fault.
  std::size_t batch_events_;
  Duration batch_due_{0};  // when what is pending must go; meaningless if nothing is
  Duration heartbeat_due_{0};
  Duration counters_due_{0};
  Duration beat_wall_{0};    // wall clock less monotonic clock at the latest heartbeat
  Duration quiet_until_{0};  // for batches, after a failure
  int failures_ = 0;         // in a row, of batches and heartbeats
  bool reached_ = true;      // by the last heartbeat
};

}  // namespace faultline
