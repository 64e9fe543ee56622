// Asks a status server of this machine how it is.
#pragma once

#include <string>

#include "adapters/http/status_server.h"

namespace faultline {

/// What the one that listens at `listen` answers to GET /healthz. Waits some seconds at most.
/// invalid_argument: not HOST:PORT; not_found: nothing listens there; conflict: another program
/// does; unavailable: no answer.
Result<Health> ask_health(const std::string& listen);

}  // namespace faultline
