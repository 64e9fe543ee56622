// A notice as the JSON that a receiver expects. Every string in it has gone through redact().
#pragma once

#include <string>

#include "base/enum_text.h"
#include "base/time.h"
#include "controller/ports.h"

namespace faultline {

enum class WebhookFormat {
  generic,       // everything, for a program of the site's own
  slack,         // an incoming webhook of Slack, or of what imitates it
  alertmanager,  // POST /api/v2/alerts of Prometheus Alertmanager
};
FAULTLINE_ENUM_NAMES(WebhookFormat, "generic", "slack", "alertmanager");

std::string notice_body(WebhookFormat format, const Notice& notice);

}  // namespace faultline
