// What kubectl printed, in JSON, in YAML and for people: any bytes are events or an error, and
// names are names. Input: a first byte, 'y' for YAML, 't' for text, the rest the document.

#include "ingest/kubernetes_objects.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/scheduler_record_check.h"

using namespace faultline;

/// Compiling takes seconds, which would count as those of the first input.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  fuzz_databases();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view document(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto decode_document = data[0] == 'y'   ? decode_kubernetes_yaml
                               : data[0] == 't' ? decode_kubernetes_text
                                                : decode_kubernetes_json;
  Counters counters;
  const auto events =
      decode_document(document, scheduler_fuzz_origin(), counters, fuzz_databases().scheduler);
  if (!events) return 0;
  for (const Event& event : *events) check_record_event(event, document.size());
  return 0;
}
