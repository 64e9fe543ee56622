#include "store/person_request.h"

#include <algorithm>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t shown_bytes_max = 80;
constexpr std::uint32_t length_count_max =
    100'000;  // so many days are still nanoseconds in 64 bits

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// The first word of `text`, which loses it.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool is_pci(const std::string& canonical) {
  return canonical.size() == 12 && canonical[4] == ':' && canonical[7] == ':' &&
         canonical[10] == '.';
}

/// One word, since the target of a request is words.
bool is_word(std::string_view text) {
  return !text.empty() && text.find(' ') == std::string_view::npos &&
         printable(text, text.size()) == text;
}

std::optional<Subject> subject_of(std::string_view text) {
  if (!is_word(text) || text.back() == ':' || text.back() == '/') return std::nullopt;
  if (auto subject = Subject::parse(text)) {
    if (subject->kind != SubjectKind::gpu) return subject;
    // As kernel lines spell it, or as nvidia-smi does.
    subject->part = canonical_pci(subject->part);
    return is_pci(subject->part) ? subject : std::nullopt;
  }
  if (valid_node_name(text)) return Subject::of_node(std::string(text));
  return std::nullopt;
}

std::string silence_id(const PersonRequest& request) {
  return "s-" + std::to_string(request.number);
}

}  // namespace

std::optional<Duration> parse_length(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto count = parse_number<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!count || *count > length_count_max) return std::nullopt;
  switch (text.back()) {
    case 's': return std::chrono::seconds{*count};
    case 'm': return std::chrono::minutes{*count};
    case 'h': return std::chrono::hours{*count};
    case 'd': return std::chrono::hours{24} * *count;
    default: return std::nullopt;
  }
}

Result<SilenceTarget> parse_silence(std::string_view target) {
  const auto subject = take_word(target);
  const auto length = take_word(target);
  return make_silence(subject, length, target);
}

Result<SilenceTarget> make_silence(std::string_view subject_text, std::string_view length_text,
                                   std::string_view reason_text) {
  const auto subject = subject_of(subject_text);
  if (!subject) {
    return wrong("'" + printable(subject_text, shown_bytes_max) +
                 "' is nothing that can be silenced: give a node, gpu:NODE/PCI, job:ID, another "
                 "subject as `faultline verdicts` spells it, or cluster; for instance n3 or "
                 "gpu:n3/0000:3b:00.0");
  }
  const auto length = parse_length(length_text);
  if (!length || *length <= Duration{} || *length > silence_max) {
    return wrong("'" + printable(length_text, shown_bytes_max) +
                 "' is no length for a silence: give 90s, 30m, 2h or 3d, at most 7d");
  }
  const auto reason = trim(reason_text);
  if (reason.empty() || printable(reason, silence_reason_bytes_max) != reason) {
    return wrong("a silence needs a reason of one line, at most " +
                 std::to_string(silence_reason_bytes_max) +
                 " bytes, for those who wonder why nothing is done");
  }
  return SilenceTarget{*subject, *length, std::string(reason)};
}

Result<RepairTarget> parse_repair(std::string_view target) {
  const auto node = take_word(target);
  return make_repair(node, target);
}

Result<RepairTarget> make_repair(std::string_view node, std::string_view note_text) {
  if (!valid_node_name(node)) {
    return wrong("'" + printable(node, shown_bytes_max) +
                 "' is not a node name; give it as the scheduler spells it, for instance n3");
  }
  const auto note = trim(note_text);
  if (printable(note, repair_note_bytes_max) != note) {
    return wrong("a note is one line, at most " + std::to_string(repair_note_bytes_max) +
                 " bytes, for instance 'RMA 4711: board swapped'");
  }
  return RepairTarget{std::string(node), std::string(note)};
}

std::vector<Silence> silences_of(const std::vector<PersonRequest>& requests) {
  std::vector<Silence> silences;
  for (const auto& request : requests) {
    if (!accepted(request.answer.kind)) continue;
    if (request.kind == RequestKind::silence) {
      const auto target = parse_silence(request.target);
      if (!target) continue;  // of another version of this program
      silences.push_back({silence_id(request),
                          target->subject,
                          request.at,
                          request.at + target->length,
                          request.who,
                          target->reason,
                          {},
                          {}});
    } else if (request.kind == RequestKind::unsilence) {
      for (auto& silence : silences) {
        if (silence.id != request.target || known(silence.ended_at)) continue;
        silence.ended_at = request.at;
        silence.ended_by = request.who;
      }
    }
  }
  return silences;
}

}  // namespace faultline
