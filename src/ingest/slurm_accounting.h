// What `sacct` printed, as events: each record of a job is one run of it, an attempt that started
// and, as a rule, ended.
#pragma once

#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

/// `sacct --parsable2` or `--parsable`, or the table that it prints by itself, columns in any
/// order, with or without steps; a later header line gives the columns that follow it. Of `origin`
/// its path and utc_offset count.
///
/// Events, of source scheduler: attempt_started and attempt_ended with the fields that they have
/// live, and where known `cancelled_by` (a user, by name or number), `reason`, `failed_node` and
/// `steps`
/// ("batch 1:0 n1; 0 0:9 n[1-4]"). Records of one job are its restarts, in the order of their
/// starts; a record that is there twice, say as running and as failed, is one, and the later word
/// counts. A job that never ran gives nothing. `nodes` is expanded where that fits a field, and
/// else the list as Slurm wrote it.
///
/// Rows that are none are counted: slurm_accounting_rows_bad_total.
/// Errors: invalid_argument without a header line, saying how to ask sacct.
Result<std::vector<Event>> decode_slurm_accounting(std::string_view text, const Origin& origin,
                                                   Counters& counters);

/// `sacct --json` of 21.08 and later; events as above. Records that are none are counted there too,
/// and a document that was cut: scheduler_documents_cut_total.
/// Errors: corrupt if it holds no record at all.
Result<std::vector<Event>> decode_slurm_accounting_json(std::string_view document,
                                                        const Origin& origin, Counters& counters);

}  // namespace faultline
