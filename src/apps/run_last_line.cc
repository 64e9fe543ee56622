#include "apps/run_last_line.h"

#include <algorithm>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t kept_bytes_max = 2048;
constexpr std::string_view line_ends = "\r\n";  // progress bars end their lines with the former

}  // namespace

void LastLine::output(std::string_view bytes) {
  bytes.remove_prefix(bytes.size() - std::min(bytes.size(), kept_bytes_max));
  const std::size_t room = kept_bytes_max - bytes.size();
  if (end_.size() > room) end_.erase(0, end_.size() - room);
  end_ += bytes;
}

std::string LastLine::text() const {
  const std::string_view all = trim(end_);
  const std::size_t before = all.find_last_of(line_ends);
  return std::string(trim(all.substr(before == std::string_view::npos ? 0 : before + 1)));
}

}  // namespace faultline
