// When a node's record starts anew.
#pragma once

#include "model/event.h"

namespace faultline {

/// True if the event's node passed its test, or a person gave it back: what was said of it before
/// stands in the store, and the next line is a new incident. A reboot alone proves nothing.
inline bool cleans_record(const Event& event) {
  if (event.kind == EventKind::test_finished) return event.field("exit_code") == "0";
  return event.kind == EventKind::person_request && event.field("request") == "return";
}

}  // namespace faultline
