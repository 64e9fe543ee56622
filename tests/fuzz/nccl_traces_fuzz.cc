// NCCL's RAS in JSON ('0') and text ('1'), and its Inspector ('2'): any bytes give events that are
// well formed, or none. Input: a first byte for the format, a second one for the size of the
// chunks, the rest the file.

#include "ingest/nccl_inspector.h"
#include "ingest/nccl_ras_json.h"
#include "ingest/nccl_ras_text.h"
#include "tests/fuzz/record_check.h"

namespace {

using namespace faultline;

template <class Decoder>
void run(Decoder decoder, std::string_view bytes, std::size_t chunk_bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes)
    check_events(decoder.feed(bytes.substr(at, chunk_bytes), at), bytes.size());
  check_events(decoder.finish(), bytes.size());
}

void run_inspector(const Origin& origin, std::string_view bytes, std::size_t chunk_bytes) {
  Counters counters;
  NcclInspectorDecoder decoder(origin, counters);
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes)
    decoder.feed(bytes.substr(at, chunk_bytes), at);
  check_events(decoder.finish(), bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t chunk = 1 + std::size_t{data[1]} * 3;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Origin origin = fuzz_origin();
  Counters counters;
  switch (data[0]) {
    case '0': run(NcclRasJsonDecoder(origin, counters), bytes, chunk); break;
    case '1': run(NcclRasTextDecoder(origin, counters), bytes, chunk); break;
    default: run_inspector(origin, bytes, chunk);
  }
  return 0;
}
