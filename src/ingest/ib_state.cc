#include "ingest/ib_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "ingest/line_time.h"
#include "ingest/text_cursor.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t ports_max = 64;  // of one device; switches have more and are no hosts
constexpr std::size_t held_max = 65536;
constexpr std::size_t name_bytes_max = 64;

struct Spelling {
  std::string_view part;  // of what is printed, in lower case
  std::string_view name;
};

/// "4: ACTIVE", "PORT_ACTIVE (4)" and "Active" are one.
std::string state_of(std::string_view value) {
  static constexpr std::array<Spelling, 4> states = {
      {{"active", "Active"}, {"init", "Initializing"}, {"armed", "Armed"}, {"down", "Down"}}};
  const std::string text = to_lower(value);
  for (const auto& [part, name] : states) {
    if (text.find(part) != std::string::npos) return std::string(name);
  }
  return {};
}

/// "5: LinkUp", "LINK_UP (5)" and "LinkUp" are one.
std::string physical_of(std::string_view value) {
  static constexpr std::array<Spelling, 5> states = {{{"linkup", "LinkUp"},
                                                      {"polling", "Polling"},
                                                      {"disabled", "Disabled"},
                                                      {"errorrecovery", "LinkErrorRecovery"},
                                                      {"training", "Training"}}};
  std::string text = to_lower(value);
  std::erase(text, '_');
  for (const auto& [part, name] : states) {
    if (text.find(part) != std::string::npos) return std::string(name);
  }
  return {};
}

/// A subnet manager gave the port an address: neither "0" nor "65535" ("0x0", "0xffff").
bool is_lid(std::string_view value) {
  return !value.empty() && value != "0" && value != "65535" && value != "0x0" && value != "0xffff";
}

/// The text between quotes, or all of it.
std::string_view unquoted(std::string_view text) {
  const auto first = text.find('\'');
  const auto last = text.rfind('\'');
  return first == last ? trim(text) : text.substr(first + 1, last - first - 1);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= name_bytes_max && valid_node_name(name);
}

bool is_guid(std::string_view name) {
  constexpr std::string_view hexadecimal = "0123456789abcdefABCDEF";
  return name.size() == 16 && name.find_first_not_of(hexadecimal) == std::string_view::npos;
}

/// The host before "/mlx5_0/", "/U1/" or " HCA-1/" of a line of ibdiagnet, or after "/N" where that
/// is no GUID; "" without one.
std::string_view host_in(std::string_view line) {
  for (const std::string_view device : {"/mlx", "/U1/", " mlx", " HCA-", "/HCA-"}) {
    const auto at = line.find(device);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at);
    return before.substr(before.find_last_of(" (\"'") + 1);  // npos + 1 is 0
  }
  const auto node = line.find("/N");
  if (node == std::string_view::npos) return {};
  const std::string_view name = line.substr(node + 2);
  const auto end = name.find("/P");
  return end == std::string_view::npos || is_guid(name.substr(0, end)) ? "" : name.substr(0, end);
}

}  // namespace

IbStateDecoder::IbStateDecoder(const SystemDatabases& databases, Origin origin, Counters& counters,
                               const DecoderLimits& limits)
    : origin_(std::move(origin)),
      counters_(counters),
      records_({databases.kernel, nullptr}, origin_, counters, limits) {}

std::vector<Event> IbStateDecoder::feed(std::string_view bytes, std::uint64_t offset, Instant now) {
  lines_.feed(bytes, offset, [&](const Line& line) { take_line(line, now); });
  return records_.take(now);
}

std::vector<Event> IbStateDecoder::finish(Instant now) {
  lines_.finish([&](const Line& line) { take_line(line, now); });
  end_device();
  give_ports(now);
  return records_.finish(now);
}

void IbStateDecoder::take_line(const Line& line, Instant now) {
  const std::string_view text = trim(line.text);
  if (text.starts_with("-E-")) return take_diagnosis(line, now);
  if (text.starts_with("Timestamp:")) return take_time(trim(text.substr(10)));
  if (take_head(text, line.offset) || ports_.empty()) return;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return;
  read(trim(text.substr(0, colon)), trim(text.substr(colon + 1)));
}

/// True for a line that begins a device or a port.
bool IbStateDecoder::take_head(std::string_view line, std::uint64_t offset) {
  constexpr std::string_view status_head = "Infiniband device ";
  if (line.starts_with("CA '")) {
    begin_device(unquoted(line));
  } else if (line.starts_with("hca_id:")) {
    begin_device(trim(line.substr(7)));
  } else if (line.starts_with(status_head) && line.ends_with(" status:")) {
    const std::string_view name = unquoted(line);
    if (name != device_) begin_device(name);
    const auto port = line.find(" port ");
    if (port != std::string_view::npos)
      begin_port(line.substr(port + 6, line.size() - port - 6 - 8), offset);
  } else if (line.starts_with("Port ") && line.ends_with(':')) {
    begin_port(line.substr(5, line.size() - 6), offset);
  } else if (line.starts_with("port:")) {
    begin_port(trim(line.substr(5)), offset);
  } else {
    return false;
  }
  return true;
}

void IbStateDecoder::read(std::string_view key, std::string_view value) {
  Port& port = ports_.back();
  if (key == "state" || key == "State") port.state = state_of(value);
  if (key == "Physical state" || key == "phys state" || key == "phys_state")
    port.physical = physical_of(value);
  if (key == "Link layer" || key == "link_layer") port.ethernet = value == "Ethernet";
  if (key == "Base lid" || key == "base lid" || key == "port_lid") port.has_lid = is_lid(value);
}

void IbStateDecoder::begin_device(std::string_view name) {
  end_device();
  device_ = is_name(name) ? std::string(name) : std::string();
}

void IbStateDecoder::begin_port(std::string_view number, std::uint64_t offset) {
  const bool possible = !device_.empty() && ports_.size() < ports_max &&
                        parse_number<std::uint8_t>(number).has_value();
  if (!possible) return;
  ports_.emplace_back();
  ports_.back().number = number;
  ports_.back().offset = offset;
  counters_.add("ingest_ib_ports_total");
}

template <class Port>
static bool is_down(const Port& port) {
  return port.state == "Down" && port.physical != "LinkUp";
}

void IbStateDecoder::end_device() {
  const bool one_is_active = std::any_of(ports_.begin(), ports_.end(),
                                         [](const Port& port) { return port.state == "Active"; });
  for (Port& port : ports_) {
    if (port.state == "Active") set_up_ = set_up_ || !port.ethernet;
    if (port.state.empty() || port.state == "Active") continue;
    const bool unused = one_is_active || port.physical == "Disabled";
    if (is_down(port) && unused && !port.has_lid) continue;
    port.device = device_;
    if (held_.size() < held_max) held_.push_back(std::move(port));
  }
  ports_.clear();
  device_.clear();
}

void IbStateDecoder::give_ports(Instant now) {
  const auto waits = [](const Port& port) {
    return port.state == "Initializing" && port.physical == "LinkUp" && !port.ethernet;
  };
  const auto waiting = std::count_if(held_.begin(), held_.end(), waits);
  const bool no_manager = !set_up_ && waiting > 1;
  bool told = false;
  for (const Port& port : held_) {
    if (no_manager && waits(port)) {
      if (!std::exchange(told, true))
        add_line(origin_.node, "ib_ports: " + std::to_string(waiting) + " trained, none set up",
                 port.offset, now);
      continue;
    }
    std::string words = "ib_port " + port.device + ":" + port.number + ": state " + port.state;
    if (!port.physical.empty()) words += ", physical " + port.physical;
    if (is_down(port) && port.has_lid) words += ", had a LID";
    add_line(origin_.node, words, port.offset, now);
  }
  held_.clear();
}

/// "2025-02-11 03:21:44 UTC +0000" of ibdiagnet.
void IbStateDecoder::take_time(std::string_view value) {
  const auto zone = value.find(" UTC");
  const TimeReference reference{
      {}, {}, zone == std::string_view::npos ? origin_.utc_offset : Duration{0}};
  const Instant at = resolve_time(TimeForm::iso, value.substr(0, zone), reference).at;
  if (known(at)) origin_.last_written = at;
}

/// "-E- n3/mlx5_0/P1 - "symbol_error_counter" increased during the run".
void IbStateDecoder::take_diagnosis(const Line& line, Instant now) {
  const std::string_view host = host_in(line.text);
  if (is_name(host)) add_line(host, trim(line.text), line.offset, now);
}

void IbStateDecoder::add_line(std::string_view host, std::string_view words, std::uint64_t offset,
                              Instant now) {
  std::string head = to_text(known(origin_.last_written) ? origin_.last_written : now) + " ";
  if (!host.empty()) head += std::string(host) + " ";
  head += "kernel: ";
  records_.add({EventSource::kernel_log, head, words, offset, {}}, now);
}

}  // namespace faultline
