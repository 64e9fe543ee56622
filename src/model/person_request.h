// What a person may ask of the controller, and how it answers: values everywhere but in the
// database and on the wire, where they are text.
#pragma once

#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/result.h"
#include "model/event.h"

namespace faultline {

enum class RequestKind { approve, deny, return_node, repair, silence, unsilence };
FAULTLINE_ENUM_NAMES(RequestKind, "approve", "deny", "return", "repair", "silence", "unsilence");

/// `act`, `ask`, `hold` and `deny` are the guards' rulings on a return.
enum class AnswerKind { open, taken, refused, not_found, act, ask, hold, deny };

struct PersonAnswer {
  AnswerKind kind = AnswerKind::open;
  std::string text;  // one line for the person

  bool operator==(const PersonAnswer&) const = default;
};

/// True if what was asked for is done, or on its way.
bool accepted(AnswerKind kind);

/// An error as the answer that says no; text as the one that says yes.
PersonAnswer answer_of(const Result<std::string>& result);

/// As it is stored and sent: "not found: no decision d-1", "hold: n3 is not drained"; "" while
/// open.
std::string to_text(const PersonAnswer& answer);
PersonAnswer parse_answer(std::string_view text);

/// True of the event that tells of such a request.
bool tells_of(const Event& event, RequestKind kind);

}  // namespace faultline
