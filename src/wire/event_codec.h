// An event as bytes, for files of our own such as the agent's spool. The first byte is the version
// of the form; what follows is the protobuf message of faultline.proto. Framing, checksums and
// lengths are the file's business.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace faultline {

/// Equal events give equal bytes. Does not check: what check_event refuses, parse_event refuses
/// too.
std::string serialize_event(const Event& event);

/// The event that serialize_event was given. corrupt: the bytes are not one, or not of a version
/// known here; invalid_argument: they are, but check_event refuses it.
Result<Event> parse_event(std::string_view bytes);

}  // namespace faultline
