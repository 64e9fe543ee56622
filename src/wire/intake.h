// What the controller takes out of an agent's batch. A bad event is counted and refused with its
// reason, and the rest of the batch goes on: one broken line must not stop a node from being heard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"
#include "model/event.h"
#include "wire/faultline.pb.h"

namespace faultline {

inline constexpr std::size_t batch_events_max = 8192;

struct Intake {
  std::vector<Event> events;
  std::uint32_t refused = 0;
  std::string reason;  // of the first refusal
};

/// The events of `batch` that `node` may say. `node` is the name that the transport proved.
/// received_at is left unknown: it is the controller's to set.
Intake take_batch(const v1::Batch& batch, std::string_view node, Counters& counters);

/// ok if the agent of `node` may say this: it speaks as itself, of a source that an agent reads,
/// and what its own kernel and driver say is about its own node; the id is the one that the content
/// gives. permission_denied otherwise.
Status may_say(const Event& event, std::string_view node);

}  // namespace faultline
