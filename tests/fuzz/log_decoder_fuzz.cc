// The whole way from bytes to events with the shipped catalog: whatever a log holds, events are
// well formed and bounded, and a job's log never speaks of hardware by address. Input: first byte
// which kind of log and the size of the chunks, the rest the log.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "ingest/log_decoder.h"
#include "model/names.h"

namespace {

using namespace faultline;

const Catalog& catalog() {
  static const Catalog loaded = [] {
    auto result = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    FAULTLINE_CHECK(result.ok());
    return std::move(result).value();
  }();
  return loaded;
}

struct Setup {
  Origin origin;
  std::shared_ptr<const SignatureDatabase> database;
};

Setup setup_of(EventSource source) {
  Counters counters;
  auto database = SignatureDatabase::open(catalog(), layers_of(source), {}, counters);
  FAULTLINE_CHECK(database.ok());
  Origin origin;
  origin.source = source;
  origin.path = "log";
  if (source == EventSource::kernel_log) origin.node = "n3";
  if (source == EventSource::job_log) origin.attempt = AttemptId{"123", 0};
  return {origin, database.value()};
}

const std::array<Setup, 3>& setups() {
  static const std::array<Setup, 3> made = {setup_of(EventSource::kernel_log),
                                            setup_of(EventSource::job_log),
                                            setup_of(EventSource::scheduler)};
  return made;
}

void check_event(const Event& event) {
  FAULTLINE_CHECK(event.id == make_event_id(event));
  FAULTLINE_CHECK(event.fields.size() <= event_fields_max);
  FAULTLINE_CHECK(event.raw.text.size() <= raw_text_bytes_max);
  for (const auto& [name, value] : event.fields) FAULTLINE_CHECK(value.size() <= field_bytes_max);
  FAULTLINE_CHECK((event.kind == EventKind::log_signature) ==
                  (catalog().signature(event.signature) != nullptr));
  if (event.source == EventSource::kernel_log && concerns_node(event.subject)) {
    FAULTLINE_CHECK(event.subject.node == "n3");
  }
  if (event.source == EventSource::job_log) {
    FAULTLINE_CHECK(event.subject.kind != SubjectKind::gpu);
    if (!event.subject.attempt.job.empty()) FAULTLINE_CHECK(event.subject.attempt.job == "123");
  }
}

}  // namespace

/// Compiling takes seconds, which would count as those of the first input.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  setups();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Setup& setup = setups()[data[0] % setups().size()];
  const std::size_t chunk_bytes = 1 + (data[0] / setups().size()) * 50;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Instant now = parse_instant("2026-03-01T12:00:00Z").value_or(Instant{});
  Counters counters;
  LogDecoder decoder(setup.database, setup.origin, counters);
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    for (const auto& event : decoder.feed(bytes.substr(at, chunk_bytes), at, now))
      check_event(event);
  }
  for (const auto& event : decoder.finish(now)) check_event(event);
  return 0;
}
