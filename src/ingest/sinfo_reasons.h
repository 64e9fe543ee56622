// What `sinfo -R` printed, as events: why nodes are out of service, by whom, since when.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"
#include "ingest/log_decoder.h"
#include "ingest/signature_database.h"
#include "model/event.h"

namespace faultline {

/// Its own columns, those of -l and -N, and any of -o's with REASON and NODELIST or HOSTNAMES,
/// divided by blanks or by '|'. Of `origin` its path and utc_offset count. `signatures`: of the
/// scheduler's layers; nullptr: reasons are not looked up.
///
/// Events, of source scheduler, at the time of the reason: node_seen of every node, and
/// log_signature where the catalog knows the reason. Without a STATE column `state`, `drained` and
/// `down` are left out, but for what Slurm itself gives as the reason of a node that it has set
/// DOWN. A reason that its column has cut is completed where it can only be one of Slurm's own;
/// field `reason_cut` = "1" says that it was cut.
///
/// Rows that are none are counted: sinfo_rows_bad_total.
/// Errors: invalid_argument without a header line, saying how to ask sinfo.
Result<std::vector<Event>> decode_sinfo_reasons(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);

}  // namespace faultline
