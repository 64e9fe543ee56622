#include "wire/event_check.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

// Leaves room to add and subtract any delay of ours without overflow, and shuts out times that only
// a bug can mean.
constexpr Instant observed_at_max{std::chrono::sys_days{std::chrono::year{2200} / 1 / 1}};

Error wrong(std::string_view what, std::string_view shown = {}) {
  std::string message(what);
  if (!shown.empty()) message += " '" + printable(shown, 80) + "'";
  return Error{ErrorCode::invalid_argument, std::move(message)};
}

bool clean(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max && printable(text, bytes_max) == text;
}

/// Clean text of several lines.
bool clean_lines(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) return false;
  return std::ranges::all_of(split(text, '\n'),
                             [&](std::string_view line) { return clean(line, bytes_max); });
}

bool word(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

template <class Enum>
bool in_range(Enum value) {
  return static_cast<std::size_t>(value) < EnumNames<Enum>::values.size();
}

Status check_times(const Event& event) {
  for (const Instant instant : {event.observed_at, event.received_at}) {
    if (instant < Instant{} || instant >= observed_at_max)
      return wrong("time outside 1970 to 2200");
  }
  return ok_status();
}

Status check_subject(const Subject& subject) {
  if (!in_range(subject.kind)) return wrong("subject of unknown kind");
  if (!clean(subject.part, subject_part_bytes_max))
    return wrong("subject part too long or not text", subject.part);
  if (subject.rank < -1 || subject.rank > rank_max) return wrong("rank out of range");
  // Names are checked by parse; a field that the kind does not have would be lost on the way
  // through text, and two subjects that read alike would not be equal.
  const std::string text = subject.text();
  if (Subject::parse(text) != subject) return wrong("subject is not well formed", text);
  return ok_status();
}

Status check_fields(const Fields& fields) {
  if (fields.size() > event_fields_max)
    return wrong("more than " + std::to_string(event_fields_max) + " fields");
  for (const auto& [name, value] : fields) {
    if (!word(name, field_name_bytes_max)) return wrong("bad field name", name);
    if (!clean_lines(value, field_bytes_max + cut_mark_bytes))
      return wrong("value too long or not text: field", name);
  }
  return ok_status();
}

Status check_raw(const RawLine& raw) {
  if (!clean(raw.path, raw_path_bytes_max)) return wrong("raw path too long or not text");
  if (!clean(raw.boot_id, boot_id_bytes_max)) return wrong("boot id too long or not text");
  if (!clean_lines(raw.text, raw_text_bytes_max + cut_mark_bytes))
    return wrong("raw text too long or not text");
  return ok_status();
}

}  // namespace

Status check_event(const Event& event) {
  if (!word(event.id, event_id_bytes_max)) return wrong("bad event id", event.id);
  if (!in_range(event.source)) return wrong("unknown source");
  if (!in_range(event.kind)) return wrong("unknown kind");
  if (!in_range(event.clock)) return wrong("unknown clock");
  if (!event.reporter.empty() && !valid_node_name(event.reporter))
    return wrong("bad reporter", event.reporter);
  if (event.attempt && !valid_job_id(event.attempt->job))
    return wrong("bad job id", event.attempt->job);
  if (!event.signature.empty() && !word(event.signature, signature_bytes_max)) {
    return wrong("bad signature id", event.signature);
  }
  FAULTLINE_TRY(check_times(event));
  FAULTLINE_TRY(check_subject(event.subject));
  FAULTLINE_TRY(check_fields(event.fields));
  return check_raw(event.raw);
}

}  // namespace faultline
