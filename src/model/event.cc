#include "model/event.h"

#include "base/hash.h"

namespace faultline {

std::string_view Event::field(std::string_view name) const {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string_view{} : std::string_view(it->second);
}

EventId make_event_id(const Event& event) {
  StableHash hash;
  hash.add(to_text(event.source))
      .add(to_text(event.kind))
      .add(event.reporter)
      .add(event.subject.text());
  hash.add(event.signature).add(event.observed_at.time_since_epoch().count());
  hash.add(event.raw.path).add(static_cast<std::int64_t>(event.raw.offset)).add(event.raw.boot_id);
  hash.add(event.raw.text);
  return "e-" + hash.hex();
}

}  // namespace faultline
