#include "apps/output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace faultline {
namespace {

/// Columns as shown: UTF-8 continuation bytes take no room.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

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

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print(const nlohmann::json& json) {
  print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

int fail(const Error& error) {
  std::fprintf(stderr, "faultline: %s\n", error.message.c_str());
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
