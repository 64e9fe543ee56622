// `nvidia-smi -q -x` -> events (see gpu_report.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ingest/gpu_report.h"

namespace faultline {

/// The events of a whole document, or of several one after the other. Of one that breaks off, those
/// of the GPUs before that place; counted in ingest_xml_broken_total.
std::vector<Event> decode_nvidia_smi_xml(std::string_view document, const Origin& origin,
                                         Counters& counters);

}  // namespace faultline
