#include "ingest/kernel_lines.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::string_view severity_word = ", Severity ";
constexpr std::string_view data_word = ", Data {";

/// ", Severity 1 ..." or ", Data {...}" of an SXid line; "" for its first line and for others.
std::string_view continuation_of(std::string_view body) {
  const auto start = body.find("SXid (");
  if (start == std::string_view::npos) return {};
  const auto close = body.find("): ", start);
  if (close == std::string_view::npos) return {};
  TextCursor cursor(body, close + 3);
  if (!cursor.take_digits(1, 6)) return {};
  const auto rest = cursor.rest();
  return rest.starts_with(severity_word) || rest.starts_with(data_word) ? rest : std::string_view{};
}

void add_field(Event& event, const std::string& name, std::string_view value) {
  if (event.fields.size() >= event_fields_max) return;
  event.fields.emplace(name, printable(value, field_bytes_max / 2));
}

}  // namespace

bool is_sxid_continuation(std::string_view body) { return !continuation_of(body).empty(); }

void fold_sxid_continuation(std::string_view body, Event& event) {
  auto rest = continuation_of(body);
  if (rest.starts_with(severity_word)) {
    rest.remove_prefix(severity_word.size());
    add_field(event, "severity_code", rest.substr(0, rest.find(' ')));
  } else if (rest.starts_with(data_word)) {
    rest.remove_prefix(data_word.size());
    add_field(event, "data", rest.substr(0, rest.find('}')));
  }
}

std::size_t driver_continuation(std::string_view line) {
  const auto blanks = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(blanks).starts_with("NVRM: ") ? blanks : 0;
}

bool is_driver_remark(std::string_view body) {
  if (!body.starts_with("NVRM: ")) return false;
  if (body.starts_with("NVRM: Rate limiting ") ||
      body.find(" RPC history (") != std::string_view::npos ||
      body.find(" RPC event history (") != std::string_view::npos) {
    return true;
  }
  // The table's head and rows are indented more deeply than anything else that the driver prints.
  return body.starts_with("NVRM:     ");
}

}  // namespace faultline
