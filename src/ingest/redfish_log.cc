#include "ingest/redfish_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "ingest/json_elements.h"
#include "ingest/json_values.h"
#include "ingest/line_time.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

constexpr std::size_t words_bytes_max = 512;
constexpr std::size_t name_bytes_max = 96;

std::string text_of(const Json& entry, const char* name, std::size_t bytes_max) {
  return printable(trim(json_text(json_field(entry, name))), bytes_max);
}

/// "Assert" and "Deassert" are which way it went, and no words of what.
bool is_direction(std::string_view code) {
  return code == "Assert" || code == "Deassert" || code.empty();
}

/// "bmc_event Memory: Uncorrectable ECC"; "" for what says that all is well.
std::string words_of(const Json& entry) {
  const std::string severity = to_lower(text_of(entry, "Severity", name_bytes_max));
  const std::string code = text_of(entry, "EntryCode", name_bytes_max);
  const std::string message = text_of(entry, "Message", words_bytes_max);
  std::string sensor = text_of(entry, "SensorType", name_bytes_max);
  const bool over = code == "Deassert" || json_boolean(json_field(entry, "Resolved"));
  if (sensor.empty() && severity != "critical" && severity != "warning") return {};
  if (sensor.empty())
    sensor = "Redfish " + severity + " " + text_of(entry, "MessageId", name_bytes_max);
  std::replace(sensor.begin(), sensor.end(), ':', ' ');
  const std::string& what = is_direction(code) ? message : code;
  if (what.empty()) return {};
  return (over ? "bmc_end " : "bmc_event ") + std::string(trim(sensor)) + ": " + what;
}

/// "2026-11-29T19:47:31-06:00 n3 kernel: "; without its time where the BMC had none.
std::string head_of(const Json& entry, const Origin& origin) {
  const std::string created = text_of(entry, "Created", name_bytes_max);
  const TimeReference reference{origin.last_written, {}, origin.utc_offset};
  const Instant at = resolve_time(TimeForm::iso, created, reference).at;
  if (!known(at)) return "kernel: ";
  return to_text(at) + " " + (origin.node.empty() ? "" : origin.node + " ") + "kernel: ";
}

}  // namespace

Result<std::vector<Event>> decode_redfish_log(std::string_view document, const Origin& origin,
                                              Counters& counters, const SystemDatabases& databases,
                                              Instant now) {
  RecordLines records({databases.kernel, nullptr}, origin, counters, {});
  const auto counts = visit_json_elements(
      document, "Members",
      [&](const Json& entry, std::uint64_t offset, std::string_view /*bytes*/) {
        const std::string words = words_of(entry);
        counters.add("ingest_bmc_records_total");
        if (words.empty()) return;
        records.add({EventSource::kernel_log, head_of(entry, origin), words, offset, {}}, now);
      });
  if (counts.left_out > 0) counters.add("ingest_json_broken_total", counts.left_out);
  if (counts.records == 0)
    return Error{ErrorCode::invalid_argument, "a Redfish log of whose members none is JSON"};
  std::vector<Event> events = records.take(now);
  std::vector<Event> last = records.finish(now);
  std::move(last.begin(), last.end(), std::back_inserter(events));
  return events;
}

}  // namespace faultline
