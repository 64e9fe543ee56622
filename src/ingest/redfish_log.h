// The log of a node's BMC as Redfish hands it out (a LogService's Entries, with their members in
// it) -> events, in the words that ingest/bmc_events.h has for it. An entry of the BMC's own event
// log names its sensor's type; any other has its maker's number and sentence ("bmc_event Redfish
// critical PSU0003: The power input for power supply 1 is lost."), and the catalog knows those.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Only `databases.kernel` is used. Entries that say that all is well are passed over. Counters:
/// ingest_bmc_records_total, and those of what is no JSON.
Result<std::vector<Event>> decode_redfish_log(std::string_view document, const Origin& origin,
                                              Counters& counters, const SystemDatabases& databases,
                                              Instant now);

}  // namespace faultline
