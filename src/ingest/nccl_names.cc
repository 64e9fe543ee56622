#include "ingest/nccl_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ingest/hardware_name.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::uint32_t domain_max = 0xffff;
constexpr std::size_t stride_run_min = 3;  // two ranks are two ranks and no pattern

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// How many of the ranks from `begin` on lie equally far apart.
std::size_t run_length(const std::vector<std::int32_t>& ranks, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end + 1 < ranks.size() && ranks[end + 1] - ranks[end] == ranks[begin + 1] - ranks[begin])
    ++end;
  return std::min(end + 1, ranks.size()) - begin;
}

}  // namespace

std::string communicator_name(std::string_view hash) {
  if (hash.starts_with("0x")) hash.remove_prefix(2);
  const auto value = hexadecimal(hash);
  return value ? fmt::format("{:#x}", *value) : std::string();
}

std::string bus_address(std::string_view bus_id) {
  if (bus_id.find(':') != std::string_view::npos)
    return possible_pci(bus_id, domain_max) ? canonical_pci(bus_id) : std::string();
  const auto number = hexadecimal(bus_id);
  if (!number || *number == 0) return {};
  const std::string address =
      fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *number >> 20U, *number >> 12U & 0xffU,
                  *number >> 4U & 0xffU, *number & 0xfU);
  return possible_pci(address, domain_max) ? address : std::string();
}

std::vector<std::string> rank_ranges(const std::vector<std::int32_t>& ranks,
                                     std::size_t bytes_max) {
  std::vector<std::string> texts;
  std::size_t at = 0;
  while (at < ranks.size()) {
    std::size_t length = run_length(ranks, at);
    if (length < stride_run_min) length = 1;
    std::string part = std::to_string(ranks[at]);
    if (length > 1) part += "-" + std::to_string(ranks[at + length - 1]);
    if (const auto step = length > 1 ? ranks[at + 1] - ranks[at] : 1; step > 1)
      part += ":" + std::to_string(step);
    at += length;
    if (texts.empty() || texts.back().size() + 1 + part.size() > bytes_max) {
      texts.push_back(std::move(part));
    } else {
      texts.back() += "," + part;
    }
  }
  return texts;
}

}  // namespace faultline
