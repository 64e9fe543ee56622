// The bytes that an agent sends, and those of a spool file: whatever they are, they are taken or
// refused, and what is taken is the same after another round.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/convert.h"
#include "wire/event_codec.h"
#include "wire/intake.h"

namespace {

void check(bool held) {
  if (!held) std::abort();
}

void spool_form(std::string_view bytes) {
  const auto event = faultline::parse_event(bytes);
  if (!event) return;
  const std::string once = faultline::serialize_event(*event);
  const auto again = faultline::parse_event(once);
  check(again.ok() && *again == *event);
  check(faultline::serialize_event(*again) == once);
}

void agent_message(std::string_view bytes) {
  faultline::v1::AgentMessage message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  faultline::Counters counters;
  const auto intake = faultline::take_batch(message.batch(), "n3", counters);
  check(intake.events.size() + intake.refused ==
        static_cast<std::size_t>(message.batch().events_size()));
  for (const auto& event : intake.events) {
    check(event.reporter == "n3");
    spool_form(faultline::serialize_event(event));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  spool_form(bytes);
  agent_message(bytes);
  return 0;
}
