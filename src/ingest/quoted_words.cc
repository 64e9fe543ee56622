#include "ingest/quoted_words.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/// A quote is open at the end of `before`. One that is a field's value ("message": "...",
/// msg="...") is how a structured log writes what it reports.
bool in_quotes(std::string_view before, char quote) {
  if (std::count(before.begin(), before.end(), quote) % 2 == 0) return false;
  const std::string_view key = trim(before.substr(0, before.rfind(quote)));
  return !key.ends_with('=') && !key.ends_with("\":");
}

/// "test_classify[RuntimeError: ...": a bracket right behind a word holds a name, not a tag.
bool in_index(std::string_view before) {
  const auto open = before.rfind('[');
  if (open == std::string_view::npos || open == 0 || before.find(']', open) != before.npos)
    return false;
  return is_word(before[open - 1]);
}

/// "no CUDA error: ...", "will say: CUDA error: ...": the word before it denies or tells of it.
bool is_denied_or_told(std::string_view before) {
  constexpr auto words = std::to_array<std::string_view>(
      {"no", "not", "never", "without", "say", "says", "said", "print", "prints", "see", "show",
       "shows", "expect", "expects", "like"});
  std::string_view last = trim(before);
  if (last.ends_with(':')) last.remove_suffix(1);
  const auto space = last.find_last_of(" \t(,");
  if (space != std::string_view::npos) last.remove_prefix(space + 1);
  return contains(words, to_lower(last));
}

/// The level of a logger, which is a word of its own in capitals. NCCL's INFO is no level of this
/// kind, as it reports there what came of an error, and NCCL_DEBUG=INFO is a setting.
bool for_information(std::string_view before) {
  for (const std::string_view level : {"INFO", "DEBUG"}) {
    const auto start = before.find(level);
    if (start == std::string_view::npos) continue;
    const auto end = start + level.size();
    const char left = start == 0 ? ' ' : before[start - 1];
    const bool own_word =
        !is_word(left) && left != '=' && (end >= before.size() || !is_word(before[end]));
    if (own_word && !before.substr(0, start).ends_with("NCCL ")) return true;
  }
  return false;
}

}  // namespace

bool is_quoted(std::string_view line, std::size_t at) {
  const std::string_view before = line.substr(0, at);
  return in_quotes(before, '"') || in_quotes(before, '`') || in_index(before) ||
         is_denied_or_told(before) || for_information(before);
}

bool quotes_device(const Signature& signature, std::string_view line, std::size_t at) {
  return signature.layer == Layer::application && signature.role == Role::root &&
         signature.subject != SubjectKind::job && signature.subject != SubjectKind::rank &&
         is_quoted(line, at);
}

}  // namespace faultline
