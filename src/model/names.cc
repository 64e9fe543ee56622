#include "model/names.h"

#include <algorithm>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t name_bytes_max = 253;  // RFC 1035 limit of a host name

bool plain_name(std::string_view name, std::string_view extra) {
  if (name.empty() || name.size() > name_bytes_max || name[0] == '-' || name[0] == '.')
    return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  });
}

bool hexadecimal(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Appends prefix + each number of "1-3,07" to `names`.
Status expand_ranges(std::string_view prefix, std::string_view ranges, std::string_view suffix,
                     std::size_t limit, std::vector<std::string>& names) {
  for (const auto range : split(ranges, ',')) {
    const auto dash = range.find('-');
    const auto low_text = range.substr(0, dash);
    const auto high_text = dash == std::string_view::npos ? low_text : range.substr(dash + 1);
    const auto low = parse_number<std::uint64_t>(low_text);
    const auto high = parse_number<std::uint64_t>(high_text);
    if (!low || !high || *high < *low) {
      return Error{ErrorCode::invalid_argument, "bad host range '" + printable(range, 64) + "'"};
    }
    if (*high - *low >= limit || names.size() + (*high - *low) >= limit) {
      return Error{ErrorCode::exhausted,
                   "host list names more than " + std::to_string(limit) + " hosts"};
    }
    for (auto number = *low; number <= *high; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < low_text.size()) digits.insert(0, low_text.size() - digits.size(), '0');
      names.push_back(std::string(prefix) + digits + std::string(suffix));
    }
  }
  return ok_status();
}

/// End of the list element that starts at 0: the first ',' outside brackets.
std::size_t element_end(std::string_view list) {
  bool inside = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') inside = true;
    if (list[i] == ']') inside = false;
    if (list[i] == ',' && !inside) return i;
  }
  return list.size();
}

}  // namespace

bool valid_node_name(std::string_view name) { return plain_name(name, "-_."); }

bool valid_job_id(std::string_view job) { return plain_name(job, "-_.+"); }

std::string canonical_pci(std::string_view address) {
  std::vector<std::string_view> parts = split(address, ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0000");
  if (parts.size() != 3) return std::string(address);
  std::string_view device = parts[2];
  std::string_view function = "0";
  if (const auto dot = device.find('.'); dot != std::string_view::npos) {
    function = device.substr(dot + 1);
    device = device.substr(0, dot);
  }
  std::string_view domain = parts[0];
  while (domain.size() > 4 && domain[0] == '0') domain.remove_prefix(1);
  if (!hexadecimal(domain) || !hexadecimal(parts[1]) || !hexadecimal(device) ||
      !hexadecimal(function)) {
    return std::string(address);
  }
  std::string text(domain.size() < 4 ? 4 - domain.size() : 0, '0');
  text.append(domain).append(":").append(parts[1]).append(":").append(device).append(".").append(
      function);
  return to_lower(text);
}

Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t limit) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = element_end(list);
    const std::string_view element = list.substr(0, end);
    list.remove_prefix(std::min(list.size(), end + 1));
    const auto open = element.find('[');
    const auto close = element.find(']');
    if (open == std::string_view::npos && close == std::string_view::npos) {
      if (!element.empty()) names.emplace_back(element);
    } else if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return Error{ErrorCode::invalid_argument,
                   "bad host list element '" + printable(element, 64) + "'"};
    } else {
      FAULTLINE_TRY(expand_ranges(element.substr(0, open),
                                  element.substr(open + 1, close - open - 1),
                                  element.substr(close + 1), limit, names));
    }
    if (names.size() > limit) {
      return Error{ErrorCode::exhausted,
                   "host list names more than " + std::to_string(limit) + " hosts"};
    }
  }
  for (const auto& name : names) {
    if (!valid_node_name(name))
      return Error{ErrorCode::invalid_argument, "bad host name '" + printable(name, 64) + "'"};
  }
  return names;
}

}  // namespace faultline
