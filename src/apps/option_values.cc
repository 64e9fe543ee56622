#include "apps/option_values.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t shown_bytes_max = 80;
constexpr int port_max = 65535;

std::string in_quotes(std::string_view word) {
  return "'" + printable(word, shown_bytes_max) + "'";
}

/// "" or what is wrong with `path` if it is to be a folder (or, else, a file).
std::string check_path(const std::string& path, bool folder) {
  if (path.empty()) return {};  // not given, where that has a meaning
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error == std::errc::not_a_directory)
    return in_quotes(path) + " goes through a file as if it were a folder";
  if (!fs::exists(status) || fs::is_directory(status) == folder) return {};
  return in_quotes(path) +
         (folder ? " is a file; a folder is expected, for instance "
                 : " is a folder; a file is expected, for instance ") +
         (folder ? fs::path(path).parent_path() : fs::path(path) / "NAME").string();
}

/// "fd00::1" or, of one link alone, "fe80::1%eth0".
bool is_ipv6(const std::string& address) {
  const auto zone = address.find('%');
  in6_addr number{};
  return ::inet_pton(AF_INET6, address.substr(0, zone).c_str(), &number) == 1 &&
         (zone == std::string::npos || valid_node_name(address.substr(zone + 1)));
}

bool is_host(const std::string& host) {
  if (!host.starts_with('[')) return valid_node_name(host);
  return host.ends_with(']') && is_ipv6(host.substr(1, host.size() - 2));
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most, std::int64_t example) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = parse_number<std::int64_t>(text);
    if (value && *value >= least && *value <= most && std::to_string(*value) == text) return {};
    return fmt::format("{} is not a whole number from {} to {}, for instance {}", in_quotes(text),
                       least, most, example);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

CLI::Validator real_number(double least, double most, double example) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = parse_number<double>(text);
    if (value && std::isfinite(*value) && *value >= least && *value <= most) return {};
    return fmt::format("{} is not a number from {} to {}, for instance {}", in_quotes(text), least,
                       most, example);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

CLI::Validator host_and_port(bool any_port) {
  const auto check = [any_port](const std::string& text) -> std::string {
    if (text.empty()) return {};  // not given, where that has a meaning
    const auto colon = text.rfind(':');
    const auto port =
        colon == std::string::npos ? std::nullopt : parse_number<int>(text.substr(colon + 1));
    const int port_min = any_port ? 0 : 1;
    if (port && *port >= port_min && *port <= port_max && is_host(text.substr(0, colon))) return {};
    return fmt::format(
        "{} is not HOST:PORT with a port from {} to {}, for instance 10.0.0.1:9176 or "
        "[fd00::1]:9176",
        in_quotes(text), port_min, port_max);
  };
  return {check, ""};
}

CLI::Validator node_name() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.empty() || valid_node_name(text)) return {};
    return in_quotes(text) +
           " is not a node name: letters, digits, '-', '_' and '.' as the scheduler spells it, for "
           "instance n3";
  };
  return {check, ""};
}

CLI::Validator file_path() {
  return {[](const std::string& path) { return check_path(path, false); }, ""};
}

CLI::Validator folder_path() {
  return {[](const std::string& path) { return check_path(path, true); }, ""};
}

void expect_files(CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* option : options) command.get_option(option)->check(file_path());
}

void expect_folders(CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* option : options) command.get_option(option)->check(folder_path());
}

}  // namespace faultline
