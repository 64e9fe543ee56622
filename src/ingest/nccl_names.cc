#include "ingest/nccl_names.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "ingest/hardware_name.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::uint32_t domain_max = 0xffff;

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
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

}  // namespace faultline
