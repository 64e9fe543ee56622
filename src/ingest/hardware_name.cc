#include "ingest/hardware_name.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

// GPUs stand in domains of 16 bits; behind Intel's VMD, where disks are, domains are longer.
constexpr std::uint32_t gpu_domain_max = 0xffff;
constexpr std::uint32_t any_domain_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t bus_max = 0xff;
constexpr std::uint32_t device_max = 0x1f;
constexpr std::uint32_t function_max = 7;
constexpr std::uint32_t xid_max = 9999;  // far above any that the driver has

bool hexadecimal_up_to(std::string_view text, std::uint32_t max) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc{} && stop == end && value <= max;
}

std::string_view field(const Fields& fields, std::string_view name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string_view{} : std::string_view(it->second);
}

/// "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 48, ...". Read here and not by the catalog's pattern,
/// since a garbled address does not fit that and would be taken for an absent one.
bool possible_xid(std::string_view body) {
  constexpr std::string_view head = "NVRM: Xid (";
  if (!body.starts_with(head)) return true;
  body.remove_prefix(head.size());
  if (body.starts_with("PCI:")) body.remove_prefix(4);
  const auto close = body.find("): ");
  if (close == std::string_view::npos) return false;
  const auto address = body.substr(0, std::min(close, body.find(' ')));
  body.remove_prefix(close + 3);
  const auto code =
      parse_number<std::uint32_t>(body.substr(0, body.find_first_not_of("0123456789")));
  return code && *code > 0 && *code <= xid_max && possible_pci(address, gpu_domain_max);
}

}  // namespace

bool possible_pci(std::string_view address, std::uint32_t domain_max) {
  auto parts = split(address, ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0");
  if (parts.size() != 3) return false;
  const auto dot = parts[2].find('.');
  const auto function = dot == std::string_view::npos ? "0" : parts[2].substr(dot + 1);
  return hexadecimal_up_to(parts[0], domain_max) && hexadecimal_up_to(parts[1], bus_max) &&
         hexadecimal_up_to(parts[2].substr(0, dot), device_max) &&
         hexadecimal_up_to(function, function_max);
}

bool possible_hardware(const Signature& signature, const Fields& fields, std::string_view body) {
  if (!possible_xid(body)) return false;
  const auto address = field(fields, "bdf");
  if (address.empty()) return true;
  if (signature.subject == SubjectKind::gpu) return possible_pci(address, gpu_domain_max);
  return address.find(':') == std::string_view::npos || possible_pci(address, any_domain_max);
}

}  // namespace faultline
