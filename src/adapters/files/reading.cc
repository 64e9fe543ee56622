#include "adapters/files/reading.h"

#include <fmt/format.h>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t words_bytes_max = 300;  // of what a library says about hostile bytes

}  // namespace

void Reading::note(std::string_view file, std::string_view what, std::string_view left_out,
                   bool may_matter) const {
  warn_({std::string(file), printable(what, words_bytes_max), std::string(left_out), may_matter});
}

Error Reading::broken(ErrorCode code, std::string_view layer, std::string_view what,
                      std::uint64_t offset) const {
  const std::string_view file = now_at_.empty() ? layer : std::string_view(now_at_);
  std::string left_out = offset == 0 ? "all of it" : fmt::format("what follows byte {}", offset);
  if (file != layer) left_out += fmt::format(" of {}", layer);
  note(file, what, left_out);
  return {code, fmt::format("{}: {}", layer, printable(what, words_bytes_max))};
}

std::optional<std::string> Reading::add_unpacked(std::uint64_t bytes) {
  unpacked_bytes_ += bytes;
  const bool many = unpacked_bytes_ > limits_.source_bytes_max;
  const bool bomb = unpacked_bytes_ > limits_.ratio_free_bytes &&
                    unpacked_bytes_ / limits_.ratio_max > packed_bytes_;
  exhausted_ = exhausted_ || many || bomb;
  if (many) return fmt::format("unpacks to more than {} bytes", limits_.source_bytes_max);
  if (bomb) return fmt::format("unpacks to more than {} times its size", limits_.ratio_max);
  return std::nullopt;
}

std::optional<std::string> Reading::add_member() {
  if (++members_ <= limits_.members_max) return std::nullopt;
  exhausted_ = true;
  return fmt::format("has more than {} members", limits_.members_max);
}

}  // namespace faultline
