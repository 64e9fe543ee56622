#include "ingest/event_time.h"

#include "ingest/event_fields.h"
#include "ingest/line_time.h"

namespace faultline {
namespace {

ClockDomain clock_of(EventSource source, const LinePrefix& prefix) {
  switch (source) {
    case EventSource::kernel_log:
      return prefix.from_dmesg ? ClockDomain::node_kernel : ClockDomain::node_wall;
    case EventSource::scheduler: return ClockDomain::scheduler;
    case EventSource::job_log:
      return prefix.own_tag ? ClockDomain::node_wall : ClockDomain::printed;
    case EventSource::launcher:
    case EventSource::nvml:
    case EventSource::agent:
    case EventSource::controller:
    case EventSource::person:
    case EventSource::collective_trace: return ClockDomain::none;
  }
  return ClockDomain::none;
}

}  // namespace

bool date_event(const LinePrefix& prefix, const Origin& origin, Instant now, Event& event) {
  const TimeReference reference{known(origin.last_written) ? origin.last_written : now,
                                origin.boot_time, origin.utc_offset};
  const LineTime time = resolve_time(prefix.time_form, prefix.time, reference);
  event.observed_at = time.at;
  event.clock = known(time.at) ? clock_of(origin.source, prefix) : ClockDomain::none;
  const bool stamped = !prefix.kernel_seconds.empty();
  const auto since_boot = time_since_boot(stamped ? TimeForm::kernel_seconds : prefix.time_form,
                                          stamped ? prefix.kernel_seconds : prefix.time);
  if (since_boot) {
    add_field(event.fields, "kernel_us",
              std::to_string(*since_boot / std::chrono::microseconds{1}));
  }
  return !time.suspect;
}

}  // namespace faultline
