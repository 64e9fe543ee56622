#include "wire/event_codec.h"

#include "wire/convert.h"

namespace faultline {
namespace {

constexpr char form_version = 1;
constexpr std::size_t event_bytes_max = std::size_t{1}
                                        << 20;  // far above what check_event lets pass

}  // namespace

std::string serialize_event(const Event& event) {
  v1::Event message;
  event_to_wire(event, message);
  std::string bytes(1, form_version);
  message.AppendToString(&bytes);
  return bytes;
}

Result<Event> parse_event(std::string_view bytes) {
  if (bytes.empty()) return Error{ErrorCode::corrupt, "event of no bytes"};
  if (bytes.size() > event_bytes_max) return Error{ErrorCode::corrupt, "event of more than 1 MiB"};
  if (bytes[0] != form_version) {
    return Error{ErrorCode::corrupt, "event written in form " +
                                         std::to_string(static_cast<unsigned char>(bytes[0])) +
                                         ", this program reads form 1"};
  }
  bytes.remove_prefix(1);
  v1::Event message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{ErrorCode::corrupt, "event bytes cannot be decoded"};
  }
  return event_from_wire(message);
}

}  // namespace faultline
