// What `scontrol show job` and `scontrol show node` printed, as events.
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

/// Both forms, on several lines or (-o) on one, in any mixture. Of `origin` its path and utc_offset
/// count. `signatures`: of the scheduler's layers; nullptr: reasons are not looked up.
///
/// Events, of source scheduler: attempt_started and attempt_ended of every job that ran; node_seen
/// of every node, with the fields that it has live, at the time of its reason (no reason, no time);
/// and log_signature where the catalog knows the reason.
///
/// A record that is no job and no node, and a job whose name looks like fields so that it cannot be
/// told which are Slurm's, are counted: slurm_records_bad_total.
/// Errors: invalid_argument if there is no record at all.
Result<std::vector<Event>> decode_scontrol_show(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);

}  // namespace faultline
