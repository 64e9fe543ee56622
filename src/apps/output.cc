#include "apps/output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace faultline {
namespace {

// What is shown comes from nodes, jobs and users; a terminal obeys control characters in it.
constexpr std::size_t shown_cell_bytes_max = 400;
constexpr std::size_t shown_line_bytes_max = 16384;
constexpr std::size_t shown_error_bytes_max = 4096;

void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// Columns as shown: UTF-8 continuation bytes take no room.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (auto& cell : row) cell = printable(cell, shown_cell_bytes_max);
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - shown_width(row[i]) + 2, ' ');
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

void print(const nlohmann::json& json) {
  write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
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
