// Model values <-> protobuf messages. Only this folder and the transport know the messages.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/event.h"
#include "wire/faultline.pb.h"

namespace faultline {

/// Spoken by both sides in Hello; raised when an old reader would misunderstand a new writer.
inline constexpr std::uint32_t protocol_version = 1;

void event_to_wire(const Event& event, v1::Event& message);

/// The event, checked with check_event. invalid_argument says what is wrong with it.
Result<Event> event_from_wire(const v1::Event& message);

}  // namespace faultline
