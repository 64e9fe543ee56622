// What `scontrol show node --json` and `sinfo --json` printed, as events.
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

/// 21.08 and later. Events as decode_scontrol_show() gives them for nodes. Records that are none
/// are counted: slurm_records_bad_total; a document that was cut: scheduler_documents_cut_total.
/// Errors: corrupt if it holds no node at all.
Result<std::vector<Event>> decode_slurm_nodes_json(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);

}  // namespace faultline
