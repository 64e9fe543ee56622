// What is read of a node: journals, dmesg --json, the InfiniBand tools, nvidia-smi,
// nvidia-bug-report.log and a BMC's event log. Any bytes give events that are well formed, or none.
// Input: a first byte for the format (its name's index in the corpus: '0' to '7'), a second one for
// the size of the chunks, the rest the file.

#include "ingest/bmc_events.h"
#include "ingest/boot_records.h"
#include "ingest/dmesg_json.h"
#include "ingest/ib_state.h"
#include "ingest/journal_export.h"
#include "ingest/journal_json.h"
#include "ingest/nvidia_bug_report.h"
#include "ingest/nvidia_smi_text.h"
#include "ingest/nvidia_smi_xml.h"
#include "ingest/nvlink_state.h"
#include "ingest/redfish_log.h"
#include "tests/fuzz/record_check.h"

namespace {

using namespace faultline;

/// NvidiaSmiTextDecoder needs no time.
struct SmiText {
  NvidiaSmiTextDecoder decoder;
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant /*now*/) {
    return decoder.feed(bytes, offset);
  }
  std::vector<Event> finish(Instant /*now*/) { return decoder.finish(); }
};

template <class Decoder>
void run(Decoder decoder, std::string_view bytes, std::size_t chunk_bytes) {
  const Instant now = fuzz_origin().last_written;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes)
    check_events(decoder.feed(bytes.substr(at, chunk_bytes), at, now), bytes.size());
  check_events(decoder.finish(now), bytes.size());
}

void fuzz_redfish(std::string_view bytes, const Origin& origin, Counters& counters) {
  const auto events =
      decode_redfish_log(bytes, origin, counters, fuzz_databases(), origin.last_written);
  if (events) check_events(*events, bytes.size());
}

}  // namespace

/// Compiling takes seconds, which would count as those of the first input.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  fuzz_databases();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t chunk = 1 + std::size_t{data[1]} * 3;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const SystemDatabases& databases = fuzz_databases();
  const Origin origin = fuzz_origin();
  Counters counters;
  switch (data[0]) {
    case '0': run(JournalJsonDecoder(databases, origin, counters), bytes, chunk); break;
    case '1': run(JournalExportDecoder(databases, origin, counters), bytes, chunk); break;
    case '2': run(DmesgJsonDecoder(databases, origin, counters), bytes, chunk); break;
    case '3': run(IbStateDecoder(databases, origin, counters), bytes, chunk); break;
    case '4': run(NvidiaBugReportDecoder(databases.kernel, origin, counters), bytes, chunk); break;
    case '5': run(SmiText{NvidiaSmiTextDecoder(origin, counters)}, bytes, chunk); break;
    case '9': run(BootRecordsDecoder(databases, origin, counters), bytes, chunk); break;
    case 'r': fuzz_redfish(bytes, origin, counters); break;
    case '8': run(NvlinkStateDecoder(databases, origin, counters), bytes, chunk); break;
    case '7': run(BmcEventDecoder(databases, origin, counters), bytes, chunk); break;
    default: check_events(decode_nvidia_smi_xml(bytes, origin, counters), bytes.size());
  }
  return 0;
}
