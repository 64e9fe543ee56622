// What the command line prints: tables for people, JSON for programs, and one way to fail.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace faultline {

/// Exit codes of every verb; docs/reference/README.md lists them.
enum ExitCode {
  exit_ok = 0,
  exit_failed = 1,       // it did not work; the message says why and what to do
  exit_usage = 2,        // wrong command line
  exit_not_found = 3,    // what was asked for is not there
  exit_unavailable = 4,  // controller, agent or scheduler does not answer
};

class Table {
 public:
  /// `free_text`: columns that may be elided; never one of what is pasted into another command.
  explicit Table(std::vector<std::string> header, std::vector<std::string> free_text = {})
      : rows_{std::move(header)}, free_text_(std::move(free_text)) {}
  void add(std::vector<std::string> row);
  [[nodiscard]] std::size_t size() const { return rows_.size() - 1; }
  /// Columns two spaces apart, the last one not padded, each line ended. So that a line has at most
  /// `width` columns, the longest free text loses its middle, ids (faultline:a-...) never; if that
  /// is not enough, or `width` is 0, all is shown.
  [[nodiscard]] std::string text(std::size_t width = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  void shrink(std::vector<std::size_t>& widths, std::size_t width) const;

  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> free_text_;
};

/// Writes to standard output, lines of text without control characters. What it does not take
/// (a full disk, a closed descriptor) is told by finish_output.
void print(const std::string& text);
/// Text with colours of ours, whose parts are without control characters already.
void print_coloured(const std::string& text);
void print(const nlohmann::json& json);
/// In the width of the terminal, or of COLUMNS where that is set; else whole, into a pipe or a
/// file.
void print(const Table& table);

/// A file that is opened must not take the number of a closed standard descriptor, and then what is
/// printed. Before anything is opened.
void hold_standard_descriptors();

/// Standard output did not take what was printed, and somebody waits for it.
bool output_is_lost();

/// The exit code of a verb after all was printed: `code`, or exit_failed in the place of exit_ok if
/// output was lost; that is said on standard error, by the `words` of the command. A reader that
/// went away (`| head`) had what it wanted: SIGPIPE ends us quietly, and where it is ignored `code`
/// counts.
int finish_output(const std::string& words, int code);

/// Writes "faultline: warning: TEXT" to standard error.
void warn(const std::string& text);

/// Writes "faultline: MESSAGE" to standard error and returns the exit code that fits the error.
int fail(const Error& error);

}  // namespace faultline
