#include "ingest/gpu_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/hardware_name.h"
#include "ingest/line_time.h"
#include "ingest/text_cursor.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t gpus_max = 64;  // per report; far above what a machine holds
constexpr std::size_t why_bytes_max = 200;
constexpr std::uint64_t unreadable_min = 4;
constexpr std::uint32_t domain_max = 0xffff;
constexpr std::string_view unknown_node = "unknown";

/// The number at the start of "0", "34 C", "639 bank(s)"; nullopt for "N/A".
std::optional<std::uint64_t> number_in(std::string_view value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

bool says_yes(std::string_view value) { return value == "Yes"; }

/// What NVML puts where a reading should be.
bool is_error_word(std::string_view value) {
  static constexpr std::array<std::string_view, 6> words = {
      "Unknown Error", "[Unknown Error]", "ERR!",
      "GPU is lost",   "[GPU is lost]",   "[GPU requires reset]"};
  return contains(words, value);
}

bool says_lost(std::string_view words) {
  return words.find("GPU is lost") != std::string_view::npos;
}

bool in_section(std::string_view section, std::string_view name) {
  return section.starts_with(name) &&
         (section.size() == name.size() || section[name.size()] == '/');
}

void add(std::optional<std::uint64_t>& total, std::uint64_t amount) {
  total = total.value_or(0) + amount;
}

/// nvidia-smi's word for NVML's number (nvml.h: nvmlGpuRecoveryAction); one past the last for a
/// word that is not known.
std::optional<std::size_t> recovery_action(std::string_view value) {
  static constexpr std::array<std::string_view, 5> words = {"None", "Reset", "Reboot", "Drain P2P",
                                                            "Drain and Reset"};
  if (value.empty() || value == "N/A" || value == "Unknown") return std::nullopt;
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), value) - words.begin());
}

}  // namespace

std::string report_key(std::string_view name) {
  std::string key;
  for (const char c : to_lower(name)) {
    const bool plain = is_lower(c) || is_digit(c);
    if (plain) key += c;
    if (!plain && !key.empty() && key.back() != '_') key += '_';
  }
  if (key.ends_with('_')) key.pop_back();
  return key;
}

void GpuReport::begin_report() {
  end_gpu();
  index_ = 0;
  at_ = {};
  attached_.clear();
  ended_.clear();
}

void GpuReport::set_time(std::string_view text) {
  const TimeReference reference{origin_.last_written, {}, origin_.utc_offset};
  at_ = resolve_time(TimeForm::ctime, text, reference).at;
}

void GpuReport::set_attached(std::string_view count) {
  const auto gpus = number_in(count);
  attached_ = gpus && *gpus > 1 ? std::to_string(*gpus) : std::string();
}

void GpuReport::begin_gpu(std::string_view pci_address, const Place& place) {
  end_gpu();
  if (!possible_pci(pci_address, domain_max)) {
    counters_.add("ingest_gpu_report_bad_address_total");
    return;
  }
  if (index_ >= gpus_max) {
    counters_.add("ingest_gpu_report_too_many_total");
    return;
  }
  gpu_ = std::make_unique<Gpu>();
  gpu_->address = canonical_pci(pci_address);
  gpu_->held.address = gpu_->address;
  gpu_->begins = raw(place);
}

void GpuReport::read(std::string_view section, std::string_view key, std::string_view value,
                     const Place& place) {
  if (gpu_ == nullptr) return;
  if (is_error_word(value)) {
    ++gpu_->unreadable;
    gpu_->lost = gpu_->lost || says_lost(value);
    if (gpu_->worst.text.empty()) gpu_->worst = raw(place);
    return;
  }
  if (value != "N/A") ++gpu_->readable;
  if (section.empty()) {
    read_identity(key, value);
    read_state(key, value, place);
  } else if (in_section(section, "ecc_errors")) {
    read_error_count(section, key, value, place);
  } else if (section == "remapped_rows" || section == "row_remapper") {
    read_rows(key, value, place);
  } else if (in_section(section, "retired_pages")) {
    read_retired_pages(key, value, place);
  } else if (in_section(section, "clocks_throttle_reasons") ||
             in_section(section, "clocks_event_reasons")) {
    read_throttle(key, value, place);
  } else if (section == "temperature") {
    read_temperature(key, value);
  } else if (section == "fb_memory_usage" || in_section(section, "processes")) {
    read_memory(section, key, value, place);
  }
}

void GpuReport::read_identity(std::string_view key, std::string_view value) {
  if (value == "N/A") return;
  if (key == "gpu_uuid" || key == "uuid") gpu_->uuid = printable(value, 96);
  if (key == "serial_number" || key == "serial") gpu_->serial = printable(value, 64);
}

/// What the driver asks for.
void GpuReport::read_state(std::string_view key, std::string_view value, const Place& place) {
  if (key == "gpu_recovery_action") {
    const auto action = recovery_action(value);
    if (action && *action > 0) bad("recovery_action", std::to_string(*action), place);
  }
  if (key == "compute_mode") {
    gpu_->held.mode = exclusive_mode(value);
    if (!gpu_->held.mode.empty()) bad(std::string(compute_mode_field), gpu_->held.mode, place);
  }
}

/// How much there is, and who has how much of it.
void GpuReport::read_memory(std::string_view section, std::string_view key, std::string_view value,
                            const Place& place) {
  if (section == "fb_memory_usage") {
    if (key == "total") gpu_->held.memory_mib = number_in(value).value_or(0);
    return;
  }
  if (key == "process_id" || key == "pid") gpu_->holder_pid = printable(value, 20);
  if (key == "name" || key == "process_name") gpu_->holder_name = printable(value, 96);
  if (key == "used_gpu_memory" || key == "used_memory")
    tell_holder(gpu_->held, {gpu_->holder_pid, gpu_->holder_name, number_in(value).value_or(0)},
                place);
}

void GpuReport::holder(std::size_t index, const GpuHolder& holder, const Place& place) {
  if (index < ended_.size()) tell_holder(ended_[index], holder, place);
}

void GpuReport::tell_holder(const HeldGpu& held, const GpuHolder& holder, const Place& place) {
  Fields fields = held.told_of(holder);
  if (fields.empty()) return;
  Gpu card;
  card.address = held.address;
  Event sample = make(EventKind::gpu_sample, card, raw(place));
  sample.fields = std::move(fields);
  give(std::move(sample));
}

/// Volta and before: "Double Bit" with a total; Turing and after: SRAM and DRAM, on Hopper with the
/// kinds of SRAM errors apart. Deeper sections tell the same errors again by their place.
void GpuReport::read_error_count(std::string_view section, std::string_view key,
                                 std::string_view value, const Place& place) {
  const std::string_view kind = section.substr(std::string_view("ecc_errors").size());
  const bool modern = kind == "/volatile" || kind == "/aggregate";
  const bool old = kind == "/volatile/double_bit" || kind == "/aggregate/double_bit";
  if (modern && key == "sram_threshold_exceeded" && says_yes(value))
    return bad("sram_threshold_exceeded", "1", place);
  const bool counts =
      (modern && key.find("_uncorrectable") != std::string_view::npos) || (old && key == "total");
  const auto errors = counts ? number_in(value) : std::nullopt;
  if (!errors) return;
  if (kind.starts_with("/aggregate")) return add(gpu_->aggregate_errors, *errors);
  add(gpu_->volatile_errors, *errors);
  if (*errors > 0) bad("ecc_uncorrected_new", std::to_string(*gpu_->volatile_errors), place);
}

void GpuReport::read_rows(std::string_view key, std::string_view value, const Place& place) {
  if (key == "uncorrectable_error" || key == "remapped_row_unc") {
    if (const auto rows = number_in(value); rows && *rows > 0)
      gpu_->circumstances["remapped_rows_uncorrected"] = std::to_string(*rows);
  }
  if (!says_yes(value)) return;
  if (key == "pending" || key == "remapped_row_pending") bad("remap_pending", "1", place);
  if (key == "remapping_failure_occurred" || key == "remapped_row_failure")
    bad("remap_failed", "1", place);
}

void GpuReport::read_retired_pages(std::string_view key, std::string_view value,
                                   const Place& place) {
  const bool pending = key == "pending_page_blacklist" || key == "pending_blacklist" ||
                       key == "pending_retirement" || key == "pending_page_retirement";
  if (pending && says_yes(value)) bad("page_retirement_pending", "1", place);
}

/// The reasons that mean trouble rather than thrift, as the agent names them.
void GpuReport::read_throttle(std::string_view key, std::string_view value, const Place& place) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> reasons = {{
      {"hw_slowdown", "hw_slowdown"},
      {"sw_thermal_slowdown", "sw_thermal"},
      {"hw_thermal_slowdown", "hw_thermal"},
      {"hw_power_brake_slowdown", "hw_power_brake"},
  }};
  if (value != "Active") return;
  for (const std::string_view prefix : {"clocks_throttle_reason_", "clocks_event_reason_"}) {
    if (key.starts_with(prefix)) key.remove_prefix(prefix.size());
  }
  for (const auto& [printed, name] : reasons) {
    if (key != printed) continue;
    if (!gpu_->throttle.empty()) gpu_->throttle += ',';
    gpu_->throttle += name;
    bad("throttle", gpu_->throttle, place);
  }
}

void GpuReport::read_temperature(std::string_view key, std::string_view value) {
  const auto degrees = number_in(value);
  if (!degrees) return;
  const auto tell = [&](const char* name) { gpu_->circumstances[name] = std::to_string(*degrees); };
  if (key == "gpu_current_temp" || key == "gpu_temp") tell("temperature_c");
  if (key == "gpu_slowdown_temp" || key == "gpu_temp_slow_threshold")
    tell("slowdown_temperature_c");
  if (key == "gpu_shutdown_temp" || key == "gpu_temp_max_threshold") tell("shutdown_temperature_c");
}

void GpuReport::bad(std::string name, std::string value, const Place& place) {
  if (gpu_->worst.text.empty()) gpu_->worst = raw(place);
  gpu_->fields[std::move(name)] = std::move(value);
}

void GpuReport::end_gpu() {
  if (gpu_ == nullptr) return;
  const Gpu gpu = std::move(*gpu_);
  gpu_.reset();
  if (!gpu.uuid.empty() || !gpu.serial.empty()) {
    Event identity = make(EventKind::gpu_identity, gpu, gpu.begins);
    identity.fields = {
        {"uuid", gpu.uuid}, {"serial", gpu.serial}, {"index", std::to_string(index_)}};
    give(std::move(identity));
  }
  ++index_;
  ended_.push_back(gpu.held);
  Fields fields = gpu.fields;
  if (gpu.lost) fields["lost"] = "1";
  // A reading that fails for a moment is common; a card of which most fail does not answer.
  if (!gpu.lost && gpu.unreadable >= unreadable_min && gpu.unreadable > gpu.readable)
    fields["missing"] = "1";
  if (gpu.unreadable > 0) fields["unreadable"] = std::to_string(gpu.unreadable);
  if (fields.empty()) return;
  // What holds one card down may hold them all.
  if (!attached_.empty() && fields.contains("throttle")) fields["attached_gpus"] = attached_;
  if (gpu.aggregate_errors && fields.contains("ecc_uncorrected_new"))
    fields["ecc_uncorrected_total"] = std::to_string(*gpu.aggregate_errors);
  fields.insert(gpu.circumstances.begin(), gpu.circumstances.end());
  fields["gpu_uuid"] = gpu.uuid;
  fields["gpu_serial"] = gpu.serial;
  Event sample = make(EventKind::gpu_sample, gpu, gpu.worst);
  sample.fields = std::move(fields);
  give(std::move(sample));
}

void GpuReport::unreachable(std::string_view pci_address, std::string_view why,
                            const Place& place) {
  begin_gpu(pci_address, place);
  if (gpu_ == nullptr) return;
  bad(says_lost(why) ? "lost" : "missing", "1", place);
  bad("error", printable(why, why_bytes_max), place);
  end_gpu();
}

RawLine GpuReport::raw(const Place& place) const {
  return {origin_.path, place.offset, origin_.boot_id,
          printable(place.text, raw_text_bytes_max - 3)};
}

Event GpuReport::make(EventKind kind, const Gpu& gpu, RawLine where) const {
  const std::string node = origin_.node.empty() ? std::string(unknown_node) : origin_.node;
  Event event;
  event.source = EventSource::nvml;
  event.kind = kind;
  event.reporter = origin_.node;
  event.subject = Subject::of_gpu(node, gpu.address);
  event.observed_at = known(at_) ? at_ : origin_.last_written;
  event.clock = known(at_) ? ClockDomain::node_wall : ClockDomain::none;
  event.raw = std::move(where);
  return event;
}

void GpuReport::give(Event event) {
  event.id = make_event_id(event);
  events_.push_back(std::move(event));
}

std::vector<Event> GpuReport::take() { return std::exchange(events_, {}); }

}  // namespace faultline
