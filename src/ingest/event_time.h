// When what a line says happened, and by which clock.
#pragma once

#include "ingest/line_prefix.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

/// Sets `observed_at`, `clock`, and the field `kernel_us` where the line says how long its kernel
/// had run. `now` counts where the log does not say when it was last written. False if the time is
/// suspect.
bool date_event(const LinePrefix& prefix, const Origin& origin, Instant now, Event& event);

}  // namespace faultline
