// Splitter and prefix parsers: any bytes in any chunks give the same lines, and no line's prefix
// reaches outside it. Input: first byte the size of the chunks, the rest the log.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "ingest/line_prefix.h"
#include "ingest/line_splitter.h"
#include "ingest/line_time.h"

namespace {

using namespace faultline;

std::vector<std::string> lines_of(std::string_view bytes, std::size_t chunk_bytes) {
  std::vector<std::string> lines;
  LineSplitter splitter;
  const LineSplitter::Sink sink = [&](const Line& line) {
    lines.push_back(std::to_string(line.offset) + " " + std::string(line.text));
  };
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    splitter.feed(bytes.substr(at, chunk_bytes), at, sink);
  }
  splitter.finish(sink);
  return lines;
}

void check_prefix(const LinePrefix& prefix, std::string_view line, const TimeReference& reference) {
  FAULTLINE_CHECK(prefix.body <= line.size());
  resolve_time(prefix.time_form, prefix.time, reference);
  time_since_boot(prefix.time_form, prefix.time);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t chunk_bytes = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto lines = lines_of(bytes, chunk_bytes);
  FAULTLINE_CHECK(lines == lines_of(bytes, size));
  const TimeReference reference{parse_instant("2026-03-01T12:00:00Z").value_or(Instant{}),
                                parse_instant("2026-02-20T00:00:00Z").value_or(Instant{}),
                                std::chrono::hours{-7}};
  for (const auto& text : lines) {
    const std::string line = text.substr(text.find(' ') + 1);
    FAULTLINE_CHECK(!line.empty() && line.size() <= line_bytes_max);
    check_prefix(parse_system_prefix(line), line, reference);
    check_prefix(parse_job_prefix(line, {}), line, reference);
    check_prefix(parse_job_prefix(line, {true, {"n3", "login"}}), line, reference);
    is_kmsg_continuation(line);
  }
  return 0;
}
