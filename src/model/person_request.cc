#include "model/person_request.h"

#include <array>
#include <utility>

namespace faultline {
namespace {

constexpr std::array prefixes = {
    std::pair{AnswerKind::refused, std::string_view("refused: ")},
    std::pair{AnswerKind::not_found, std::string_view("not found: ")},
    std::pair{AnswerKind::act, std::string_view("act: ")},
    std::pair{AnswerKind::ask, std::string_view("ask: ")},
    std::pair{AnswerKind::hold, std::string_view("hold: ")},
    std::pair{AnswerKind::deny, std::string_view("deny: ")},
};

}  // namespace

bool accepted(AnswerKind kind) {
  return kind == AnswerKind::taken || kind == AnswerKind::act || kind == AnswerKind::ask;
}

PersonAnswer answer_of(const Result<std::string>& result) {
  if (result) return {AnswerKind::taken, *result};
  const bool missing = result.error().code == ErrorCode::not_found;
  return {missing ? AnswerKind::not_found : AnswerKind::refused, result.error().message};
}

std::string to_text(const PersonAnswer& answer) {
  for (const auto& [kind, prefix] : prefixes)
    if (kind == answer.kind) return std::string(prefix) + answer.text;
  return answer.text;
}

PersonAnswer parse_answer(std::string_view text) {
  if (text.empty()) return {};
  for (const auto& [kind, prefix] : prefixes)
    if (text.starts_with(prefix)) return {kind, std::string(text.substr(prefix.size()))};
  return {AnswerKind::taken, std::string(text)};
}

bool tells_of(const Event& event, RequestKind kind) {
  return event.kind == EventKind::person_request && event.field("request") == to_text(kind);
}

}  // namespace faultline
