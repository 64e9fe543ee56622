// What the InfiniBand tools say of ports -> events: ibstat, ibstatus, ibv_devinfo, and ibdiagnet's
// lines about errors. A port that is not active becomes one line in words of our own
// ("ib_port mlx5_0:1: state Initializing, physical LinkUp"), and the catalog knows what that means.
//
// A port that never had a cable is down like one that lost it. What tells them apart is the LID
// that a subnet manager gives to a port that is up; of a card with several ports of which another
// is active, one without it is taken for unused. Where several ports are trained and none was set
// up, what they lack is the subnet manager: that is one line, and about no port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/line_splitter.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Not thread-safe; one for each file. Only `databases.kernel` is used. Of ports that are not
/// active at most held_max are held until the end. Counters: ingest_ib_ports_total.
class IbStateDecoder {
 public:
  IbStateDecoder(const SystemDatabases& databases, Origin origin, Counters& counters,
                 const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  struct Port {
    std::string number;
    std::string state;     // "Active", "Initializing", "Armed", "Down"
    std::string physical;  // "LinkUp", "Polling", ...; "" if it is not said
    std::string device;
    bool has_lid = false;
    bool ethernet = false;  // sets itself up
    std::uint64_t offset = 0;
  };
  void take_line(const Line& line, Instant now);
  bool take_head(std::string_view line, std::uint64_t offset);
  void read(std::string_view key, std::string_view value);
  void begin_device(std::string_view name);
  void begin_port(std::string_view number, std::uint64_t offset);
  void end_device();
  void give_ports(Instant now);
  void take_diagnosis(const Line& line, Instant now);
  void take_time(std::string_view value);
  void add_line(std::string_view host, std::string_view words, std::uint64_t offset, Instant now);

  Origin origin_;
  Counters& counters_;
  RecordLines records_;
  LineSplitter lines_;
  std::string device_;
  std::vector<Port> ports_;  // of the device
  std::vector<Port> held_;   // not active, of all devices
  bool set_up_ = false;      // a subnet manager has set up one of them
};

}  // namespace faultline
