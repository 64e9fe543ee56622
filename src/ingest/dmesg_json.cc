#include "ingest/dmesg_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ingest/journal_json.h"
#include "ingest/line_prefix.h"
#include "model/json.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr double uptime_seconds_max = 1e9;  // thirty years
constexpr std::size_t time_bytes_max = 64;

/// As dmesg itself would have written it before the message.
std::string head_of(const json& time) {
  if (time.is_number()) {
    const double seconds = time.get<double>();
    const bool possible = seconds >= 0 && seconds < uptime_seconds_max;
    return possible ? fmt::format("[{:12.6f}] ", seconds) : std::string();
  }
  if (!time.is_string()) return {};
  const std::string text = printable(trim(time.get<std::string>()), time_bytes_max);
  for (const std::string& head : {text + " ", "[" + text + "] "}) {
    if (parse_system_prefix(head).body == head.size()) return head;
  }
  return {};
}

}  // namespace

DmesgJsonDecoder::DmesgJsonDecoder(const SystemDatabases& databases, const Origin& origin,
                                   Counters& counters, const DecoderLimits& limits)
    : counters_(counters), lines_({databases.kernel, nullptr}, origin, counters, limits) {}

std::vector<Event> DmesgJsonDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                          Instant now) {
  records_.feed(bytes, offset,
                [&](std::string_view record, std::uint64_t at) { take_record(record, at, now); });
  return lines_.take(now);
}

std::vector<Event> DmesgJsonDecoder::finish(Instant now) {
  records_.finish();
  count_json_losses(records_.totals(), counters_);
  return lines_.finish(now);
}

void DmesgJsonDecoder::take_record(std::string_view text, std::uint64_t offset, Instant now) {
  const auto parsed = parse_json(text);
  if (!parsed.ok()) {
    counters_.add("ingest_json_broken_total");
    return;
  }
  const auto message = parsed->find("msg");
  if (message == parsed->end() || !message->is_string()) return;
  const std::string words = message->get<std::string>();
  if (words.empty()) return;
  const auto facility = parsed->find("fac");
  if (facility != parsed->end() && *facility != "kern") {
    counters_.add("ingest_not_kernel_lines_total");
    return;
  }
  const auto time = parsed->find("time");
  const std::string head = time == parsed->end() ? std::string() : head_of(*time);
  lines_.add({EventSource::kernel_log, head, words, offset, {}}, now);
}

}  // namespace faultline
