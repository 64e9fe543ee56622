// What people kept of Slurm's answers: any bytes are events or an error, names are names, and times
// are after 1970. Input: a first byte '0' to '4' for the kind of document, the rest the document.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "ingest/scontrol_show.h"
#include "ingest/sinfo_reasons.h"
#include "ingest/slurm_accounting.h"
#include "ingest/slurm_nodes_json.h"
#include "tests/fuzz/scheduler_record_check.h"

namespace {

using namespace faultline;
using Events = Result<std::vector<Event>>;

Events text(std::string_view document, Counters& counters) {
  return decode_slurm_accounting(document, scheduler_fuzz_origin(), counters);
}
Events json(std::string_view document, Counters& counters) {
  return decode_slurm_accounting_json(document, scheduler_fuzz_origin(), counters);
}
Events scontrol(std::string_view document, Counters& counters) {
  return decode_scontrol_show(document, scheduler_fuzz_origin(), counters,
                              fuzz_databases().scheduler);
}
Events sinfo(std::string_view document, Counters& counters) {
  return decode_sinfo_reasons(document, scheduler_fuzz_origin(), counters,
                              fuzz_databases().scheduler);
}
Events nodes_json(std::string_view document, Counters& counters) {
  return decode_slurm_nodes_json(document, scheduler_fuzz_origin(), counters,
                                 fuzz_databases().scheduler);
}

}  // namespace

/// Compiling takes seconds, which would count as those of the first input.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  fuzz_databases();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kinds = {text, json, scontrol, sinfo, nodes_json};
  if (size == 0) return 0;
  const std::string_view document(reinterpret_cast<const char*>(data) + 1, size - 1);
  Counters counters;
  const auto events =
      kinds[static_cast<std::size_t>(data[0] - '0') % kinds.size()](document, counters);
  if (!events) return 0;
  for (const Event& event : *events) check_record_event(event, document.size());
  return 0;
}
