// When a node's record starts anew.
#pragma once

#include "model/person_request.h"

namespace faultline {

/// True if the event's node passed its test, or a person gave it back: what was said of it before
/// stands in the store, and the next line is a new incident. A reboot alone proves nothing.
inline bool cleans_record(const Event& event) {
  if (event.kind == EventKind::test_finished) return event.field("exit_code") == "0";
  return tells_of(event, RequestKind::return_node);
}

}  // namespace faultline
