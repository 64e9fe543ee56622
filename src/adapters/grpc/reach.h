// Whether a controller can be reached with these certificates, for `faultline doctor`. Nobody there
// takes the question for an agent: a second stream of a node would end the first, and a heartbeat
// would make a dead agent look alive.
#pragma once

#include "adapters/grpc/client.h"

namespace faultline {

/// ok once both sides have accepted the connection. Else the errors of GrpcUplink's connection.
Status reach(const ControllerAddress& controller, const Clock& clock,
             Duration deadline = std::chrono::seconds{10});

}  // namespace faultline
