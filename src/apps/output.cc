#include "apps/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/contains.h"
#include "base/text.h"

namespace faultline {
namespace {

// What is shown comes from nodes, jobs and users; a terminal obeys control characters in it.
constexpr std::size_t shown_cell_bytes_max = 400;
constexpr std::size_t gap = 2;                // between two columns
constexpr std::size_t elided_width_min = 12;  // less would say nothing
constexpr std::size_t shown_line_bytes_max = 16384;
constexpr std::size_t shown_error_bytes_max = 4096;

/// Why standard output took no more; 0 while it does. A process has one output.
int write_error = 0;

void write(std::string_view text) {
  while (!text.empty() && write_error == 0) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      write_error = errno;
    }
  }
}

/// Columns as shown: UTF-8 continuation bytes take no room.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Columns up to the end of the last id in `text`, which is whole or cannot be pasted.
std::size_t width_with_id(const std::string& text) {
  const auto at = text.rfind("faultline:");
  return at == std::string::npos ? 0 : shown_width(text.substr(0, text.find(' ', at)));
}

/// `text` in `width` columns: its beginning and its end say most.
std::string elided(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return text;
  std::vector<std::size_t> starts;  // of what takes a column
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  const std::size_t tail = std::min((width - 1) / 2, width - 1 - width_with_id(text));
  const std::size_t head = width - 1 - tail;
  return text.substr(0, starts[head]) + "…" +
         text.substr(tail == 0 ? text.size() : starts[starts.size() - tail]);
}

/// 0: it has none. COLUMNS is in the environment only where somebody put it there on purpose.
std::size_t width_of_output() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr)
    if (const auto width = parse_number<std::size_t>(columns)) return *width;
  winsize terminal{};
  const bool is_one = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0;
  return is_one ? terminal.ws_col : 0;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (auto& cell : row) cell = printable(cell, shown_cell_bytes_max);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  return widths;
}

void Table::shrink(std::vector<std::size_t>& widths, std::size_t width) const {
  const auto whole = widths;
  std::vector<std::size_t> least(widths.size(), elided_width_min);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < least.size(); ++i)
      least[i] = std::max(least[i], width_with_id(row[i]) + 1);
  }
  const auto& header = rows_.front();
  std::size_t all = std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  for (; all > width; --all) {
    std::size_t* longest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool may =
          contains(free_text_, header[i]) && widths[i] > std::max(least[i], shown_width(header[i]));
      if (may && (longest == nullptr || widths[i] > *longest)) longest = &widths[i];
    }
    if (longest == nullptr) {
      widths = whole;  // it would not fit anyway
      return;
    }
    --*longest;
  }
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths = this->widths();
  if (width > 0) shrink(widths, width);
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = i < widths.size() ? elided(row[i], widths[i]) : row[i];
      line += cell;
      if (i + 1 < row.size()) line.append(widths[i] - shown_width(cell) + gap, ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

void print(const std::string& text) {
  std::string shown;
  for (const auto line : split(text, '\n')) shown += printable(line, shown_line_bytes_max) + "\n";
  shown.pop_back();  // one more than there were
  write(shown);
}

void print_coloured(const std::string& text) { write(text); }

void print(const Table& table) { print(table.text(width_of_output())); }

void print(const nlohmann::json& json) {
  write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void hold_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is the one that is closed. Reading what is to be written fails, and
    // the other way round, as on the closed descriptor.
    const int held = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (held > STDERR_FILENO) ::close(held);
  }
}

bool output_is_lost() { return write_error != 0 && write_error != EPIPE; }

int finish_output(const std::string& words, int code) {
  if (!output_is_lost()) return code;
  // Nobody should submit or approve a second time for want of an answer.
  const char* done = code == exit_ok ? "; what it was asked for is done" : "";
  std::fprintf(stderr, "faultline: the output of `%s` is lost: %s%s\n",
               printable(words, shown_error_bytes_max).c_str(), std::strerror(write_error), done);
  write_error = 0;
  return code == exit_ok ? exit_failed : code;
}

void warn(const std::string& text) {
  std::fprintf(stderr, "faultline: warning: %s\n", printable(text, shown_error_bytes_max).c_str());
}

int fail(const Error& error) {
  std::fprintf(stderr, "faultline: %s\n", printable(error.message, shown_error_bytes_max).c_str());
  switch (error.code) {
    case ErrorCode::invalid_argument: return exit_usage;
    case ErrorCode::not_found: return exit_not_found;
    case ErrorCode::unavailable:
    case ErrorCode::deadline_exceeded: return exit_unavailable;
    case ErrorCode::permission_denied:
    case ErrorCode::conflict:
    case ErrorCode::corrupt:
    case ErrorCode::exhausted:
    case ErrorCode::internal: return exit_failed;
  }
  return exit_failed;
}

}  // namespace faultline
