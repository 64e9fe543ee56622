#include "ingest/kernel_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

constexpr std::string_view severity_word = ", Severity ";
constexpr std::string_view data_word = ", Data {";
constexpr std::size_t ports_max = 16'384;  // that were up since their hosts booted

/// ", Severity 1 ..." or ", Data {...}" of an SXid line; "" for its first line and for others.
std::string_view continuation_of(std::string_view body) {
  const auto start = body.find("SXid (");
  if (start == std::string_view::npos) return {};
  const auto close = body.find("): ", start);
  if (close == std::string_view::npos) return {};
  TextCursor cursor(body, close + 3);
  if (!cursor.take_digits(1, 6)) return {};
  const auto rest = cursor.rest();
  return rest.starts_with(severity_word) || rest.starts_with(data_word) ? rest : std::string_view{};
}

void add_field(Event& event, const std::string& name, std::string_view value) {
  if (event.fields.size() >= event_fields_max) return;
  event.fields.emplace(name, printable(value, field_bytes_max / 2));
}

std::string port_of(const Event& event) {
  return fmt::format("{}\n{}\n{}", event.field("bdf"), event.field("dev"), event.field("port"));
}

}  // namespace

bool is_sxid_continuation(std::string_view body) { return !continuation_of(body).empty(); }

void fold_sxid_continuation(std::string_view body, Event& event) {
  auto rest = continuation_of(body);
  if (rest.starts_with(severity_word)) {
    rest.remove_prefix(severity_word.size());
    add_field(event, "severity_code", rest.substr(0, rest.find(' ')));
  } else if (rest.starts_with(data_word)) {
    rest.remove_prefix(data_word.size());
    add_field(event, "data", rest.substr(0, rest.find('}')));
  }
}

bool KernelBoot::is_port_setup(const Signature& signature, const Event& event) {
  static constexpr auto port_down =
      std::to_array<std::string_view>({"mlx5.link", "mlx5.ib_link", "nic.link", "ib.carrier"});
  const std::string host = event.reporter + '\n';
  if (signature.id == "kernel.boot") {
    host_ = event.reporter;
    at_ = event.observed_at;
    std::erase_if(ports_up_, [&](const std::string& port) { return port.starts_with(host); });
  }
  // Of more ports than any log names nobody knows any more which were up: then none is left out.
  const bool too_many = ports_up_.size() >= ports_max;
  const std::string port = host + port_of(event);
  if (contains(port_down, signature.clears) && !too_many) ports_up_.insert(port);
  return contains(port_down, signature.id) && is_soon(event) && !too_many &&
         !ports_up_.contains(port);
}

bool KernelBoot::is_soon(const Event& event) const {
  if (const auto micros = parse_number<std::int64_t>(event.field("kernel_us")))
    return *micros * std::chrono::microseconds{1} <= port_setup_max;
  const Duration after = event.observed_at - at_;
  return known(at_) && event.reporter == host_ && after >= Duration{0} && after <= port_setup_max;
}

std::size_t driver_continuation(std::string_view line) {
  const auto blanks = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(blanks).starts_with("NVRM: ") ? blanks : 0;
}

bool is_driver_remark(std::string_view body) {
  if (!body.starts_with("NVRM: ")) return false;
  if (body.starts_with("NVRM: Rate limiting ") ||
      body.find(" RPC history (") != std::string_view::npos ||
      body.find(" RPC event history (") != std::string_view::npos) {
    return true;
  }
  // The table's head and rows are indented more deeply than anything else that the driver prints.
  return body.starts_with("NVRM:     ");
}

}  // namespace faultline
