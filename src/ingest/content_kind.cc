#include "ingest/content_kind.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "base/text.h"
#include "ingest/content_forms.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t lines_max = 1000;  // as many say as much as all of them
constexpr std::size_t preamble_lines_max = 5;
constexpr std::size_t lines_enough = 20;
constexpr std::size_t journal_record_bytes = 4096;  // its first fields lie within
constexpr std::size_t null_run_bytes = 8;

/// ASCII is enough to know a form by; all else becomes '?'.
std::string narrowed(std::string_view wide, TextEncoding encoding) {
  const std::size_t high = encoding == TextEncoding::utf16_le ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i + 1 < wide.size(); i += 2) {
    const char low = wide[i + 1 - high];
    text += wide[i + high] == '\0' && static_cast<unsigned char>(low) < 0x80 ? low : '?';
  }
  if (text.starts_with('?')) text.erase(0, 1);  // the mark
  return text;
}

/// A crash leaves runs of zeros where a log was to be written.
std::string without_null_runs(std::string_view head) {
  std::string text;
  while (!head.empty()) {
    const auto run = std::min(head.find_first_not_of('\0'), head.size());
    if (run < null_run_bytes) text.append(head.substr(0, run));
    head.remove_prefix(run);
    const auto rest = std::min(head.find('\0'), head.size());
    text.append(head.substr(0, rest));
    head.remove_prefix(rest);
  }
  return text;
}

/// A text in whatever encoding has hardly any control characters, and of random bytes a tenth are.
bool is_binary(std::string_view text) {
  constexpr std::size_t text_bytes_a_control = 50;
  constexpr std::string_view used = "\t\n\v\f\r\b\a\x1b\x1e";
  const auto odd = std::count_if(text.begin(), text.end(), [&](char c) {
    return static_cast<unsigned char>(c) < 0x20 && used.find(c) == std::string_view::npos;
  });
  const bool tensors = text.size() > 10 && text.substr(8, 2) == "{\""sv && text[7] == '\0';
  return tensors || static_cast<std::size_t>(odd) * text_bytes_a_control > text.size();
}

bool is_flight_recorder_pickle(std::string_view head) {
  const bool framed =
      head.size() > 2 && head[0] == '\x80' && static_cast<unsigned char>(head[1]) <= 5;
  const bool lines = head.starts_with("(d") || head.starts_with("}");  // protocols 0 and 1
  if (!framed && !lines) return false;
  const auto known = {"pg_config"sv,         "pg_status"sv, "comm_lib_version"sv,
                      "entries"sv,           "version"sv,   "profiling_name"sv,
                      "record_id"sv,         "pg_id"sv,     "seq_id"sv,
                      "collective_seq_id"sv, "op_id"sv};
  const auto found = std::count_if(known.begin(), known.end(), [&](std::string_view key) {
    return head.find(key) != std::string_view::npos;
  });
  return found >= 3;
}

/// The last line may be cut: it counts only where there are few others.
ContentLines lines_of(std::string_view text) {
  ContentLines lines;
  while (!text.empty() && lines.size() < lines_max) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos && lines.size() >= lines_enough) break;
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!trim(line).empty()) lines.push_back(line);
  }
  return lines;
}

/// The command that somebody typed, or the words of a protocol before an answer.
bool is_preamble(std::string_view line) {
  const auto starts = {"$ "sv, "# "sv, "SERVER PROTOCOL "sv, "RAS Monitor Mode"sv};
  const auto prompts = {"]$ "sv, "]# "sv, ":~$ "sv, ":~# "sv};
  return line == "OK" ||
         std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return line.starts_with(start); }) ||
         std::any_of(prompts.begin(), prompts.end(), [&](std::string_view prompt) {
           return line.find(prompt) != std::string_view::npos;
         });
}

std::string_view without_preamble(std::string_view text) {
  for (std::size_t i = 0; i < preamble_lines_max; ++i) {
    const auto start = std::min(text.find_first_not_of(" \t\r\n\x1e"), text.size());
    const auto line = text.substr(start, text.find_first_of("\r\n", start) - start);
    if (!is_preamble(line)) break;
    text.remove_prefix(start + line.size());
  }
  return text;
}

/// "import torch", "import torch.nn as nn, os".
bool is_import(std::string_view line) {
  if (line.starts_with("from ")) return line.find(" import ") != std::string_view::npos;
  const auto names = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == ',' || c == ' ';
  };
  return line.starts_with("import ") && std::all_of(line.begin(), line.end(), names);
}

/// A script says who runs it; Python begins with what it imports or with a docstring, after
/// remarks. Pasted together with what it printed, it is a job's log.
bool is_program(const ContentLines& lines) {
  const bool with_output = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with("Traceback (most recent call last)");
  });
  if (lines.empty() || with_output) return false;
  if (lines[0].starts_with("#!")) return true;
  const auto code = std::find_if(lines.begin(), lines.end(),
                                 [](std::string_view line) { return !line.starts_with('#'); });
  return code != lines.end() && (is_import(*code) || code->starts_with("\"\"\""));
}

bool is_module_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.';
  });
}

/// "p0", "(lp0": what a pickle of protocol 0 numbers.
bool is_numbered(std::string_view line, std::initializer_list<std::string_view> openings) {
  return std::any_of(openings.begin(), openings.end(), [&](std::string_view opening) {
    return line.starts_with(opening) && parse_number<int>(line.substr(opening.size())).has_value();
  });
}

ContentKind text_kind(std::string_view text) {
  if (is_program(lines_of(text))) return ContentKind::program;
  const auto answer = without_preamble(text);
  const auto start = answer.find_first_not_of(" \t\r\n\x1e");
  if (start == std::string_view::npos) return ContentKind::job_log;
  if (const auto json = json_kind(answer.substr(start)); json) return *json;
  if (const auto headed = headed_kind(lines_of(answer)); headed) return *headed;
  return line_log_kind(lines_of(text));
}

ContentKind narrow_kind(std::string_view head) {
  if (is_flight_recorder_pickle(head)) return ContentKind::flight_recorder_pickle;
  const std::string text = without_null_runs(head);
  const auto lines = lines_of(std::string_view(text).substr(0, journal_record_bytes));
  // Its fields may hold any bytes.
  if (headed_kind(lines) == ContentKind::journal_export) return ContentKind::journal_export;
  if (text.empty() || is_binary(text) || is_pickle_text(text)) return ContentKind::binary;
  return text_kind(text);
}

}  // namespace

/// UTF-16 without a mark: every other byte of its ASCII is 0.
TextEncoding encoding_of(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) return TextEncoding::utf8_bom;
  if (head.starts_with("\xFF\xFE")) return TextEncoding::utf16_le;
  if (head.starts_with("\xFE\xFF")) return TextEncoding::utf16_be;
  constexpr std::size_t looked_at = 256;
  const auto start = head.substr(0, looked_at);
  std::array<std::size_t, 2> nulls{};
  for (std::size_t i = 0; i < start.size(); ++i) nulls[i % 2] += start[i] == '\0' ? 1 : 0;
  const std::size_t many = start.size() * 2 / 5;
  if (start.size() < 16) return TextEncoding::utf8;
  if (nulls[1] > many && nulls[0] * 10 < nulls[1]) return TextEncoding::utf16_le;
  if (nulls[0] > many && nulls[1] * 10 < nulls[0]) return TextEncoding::utf16_be;
  return TextEncoding::utf8;
}

bool is_pickle_text(std::string_view text) {
  if (text.size() < content_head_bytes && !trim(text).ends_with('.')) return false;
  const auto lines = lines_of(text.substr(0, journal_record_bytes));
  if (lines.size() < 2) return false;
  if (is_numbered(lines[0], {"(lp", "(dp", "(tp"})) return true;
  if (lines.size() < 3 || !lines[0].starts_with('c')) return false;
  return is_module_name(lines[0].substr(1)) && is_module_name(lines[1]) &&
         (lines[2].starts_with('(') || is_numbered(lines[2], {"p"}));
}

std::string pasted_kernel_lines(std::string_view head) {
  std::string text;
  for (const auto line : kernel_lines_without_job(lines_of(head.substr(0, content_head_bytes))))
    text.append(line).push_back('\n');
  return text;
}

Content content_of(std::string_view head) {
  head = head.substr(0, content_head_bytes);
  if (head.empty()) return {};
  const TextEncoding encoding = encoding_of(head);
  if (encoding == TextEncoding::utf16_le || encoding == TextEncoding::utf16_be)
    return {text_kind(narrowed(head, encoding)), encoding};
  if (encoding == TextEncoding::utf8_bom) head.remove_prefix(3);
  return {head.empty() ? ContentKind::empty : narrow_kind(head), encoding};
}

}  // namespace faultline
