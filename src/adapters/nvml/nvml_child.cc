#include "adapters/nvml/nvml_child.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "adapters/nvml/nvml_library.h"
#include "model/json.h"

namespace faultline {
namespace {

using nlohmann::json;

// nvml.h: nvmlTemperatureSensors_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t
constexpr int sensor_gpu = 0;
constexpr int error_corrected = 0;
constexpr int error_uncorrected = 1;
constexpr int counter_aggregate = 1;
// NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: since driver 570; before, no field had this number.
constexpr unsigned int field_recovery_action = 230;
constexpr NvmlReturn error_unknown = 999;
constexpr unsigned int gpus_max = 64;

std::string text_of(NvmlReturn (*function)(NvmlDevice, char*, unsigned int), NvmlDevice device) {
  std::array<char, 128> buffer{};
  if (function == nullptr || function(device, buffer.data(), buffer.size() - 1) != 0) return {};
  return buffer.data();
}

/// By nvmlValueType_t; nothing if it is no whole number.
std::optional<std::int64_t> whole_number(const NvmlFieldValue& field) {
  switch (field.value_type) {
    case 1: return field.value.as_unsigned_int;
    case 2: return static_cast<std::int64_t>(field.value.as_unsigned_long);
    case 3: return static_cast<std::int64_t>(field.value.as_unsigned_long_long);
    case 4: return field.value.as_signed_long_long;
    case 5: return field.value.as_signed_int;
    case 6: return field.value.as_unsigned_short;
    default: return std::nullopt;
  }
}

/// What the driver wants done to the GPU, as its own number: the detector gives it a name.
void read_recovery_action(const NvmlLibrary& nvml, NvmlDevice device, json& gpu) {
  NvmlFieldValue field{};
  field.field_id = field_recovery_action;
  field.result = error_unknown;  // unless the driver says otherwise
  if (nvml.field_values == nullptr || nvml.field_values(device, 1, &field) != 0) return;
  if (field.result != 0) return;
  if (const auto action = whole_number(field)) gpu["recovery_action"] = *action;
}

void read_counters(const NvmlLibrary& nvml, NvmlDevice device, json& gpu) {
  unsigned int degrees = 0;
  if (nvml.temperature != nullptr && nvml.temperature(device, sensor_gpu, &degrees) == 0)
    gpu["temperature_c"] = degrees;
  unsigned long long value = 0;
  if (nvml.throttle_reasons != nullptr && nvml.throttle_reasons(device, &value) == 0)
    gpu["throttle_reasons"] = value;
  if (nvml.ecc_total != nullptr &&
      nvml.ecc_total(device, error_corrected, counter_aggregate, &value) == 0) {
    gpu["ecc_corrected_total"] = value;
  }
  if (nvml.ecc_total != nullptr &&
      nvml.ecc_total(device, error_uncorrected, counter_aggregate, &value) == 0) {
    gpu["ecc_uncorrected_total"] = value;
  }
  unsigned int corrected = 0;
  unsigned int uncorrected = 0;
  unsigned int pending = 0;
  unsigned int failed = 0;
  if (nvml.remapped_rows != nullptr &&
      nvml.remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == 0) {
    gpu["remapped_rows_uncorrected"] = uncorrected;
    gpu["remap_pending"] = pending != 0;
    gpu["remap_failed"] = failed != 0;
  }
}

json sample_all(const NvmlLibrary& nvml) {
  unsigned int count = 0;
  if (const NvmlReturn result = nvml.device_count(&count); result != 0) {
    return {{"error", std::string("NVML: ") +
                          (nvml.error_text != nullptr ? nvml.error_text(result) : "error")}};
  }
  json gpus = json::array();
  for (unsigned int index = 0; index < std::min(count, gpus_max); ++index) {
    NvmlDevice device = nullptr;
    NvmlPciInfo pci{};
    // A GPU that has fallen off the bus cannot be asked; that it is missing from the list is the
    // answer.
    if (nvml.device_by_index(index, &device) != 0 || nvml.pci_info(device, &pci) != 0) continue;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    json gpu = {{"pci", pci.bus_id},
                {"index", index},
                {"uuid", text_of(nvml.uuid, device)},
                {"serial", text_of(nvml.serial, device)}};
    read_counters(nvml, device, gpu);
    read_recovery_action(nvml, device, gpu);
    gpus.push_back(std::move(gpu));
  }
  return {{"gpus", std::move(gpus)}};
}

}  // namespace

int nvml_child_main() {
  NvmlLibrary nvml;
  bool loaded = false;
  std::string line;
  while (std::getline(std::cin, line)) {
    json answer;
    if (!loaded) {
      std::string why = load_nvml(nvml);
      if (why.empty()) {
        if (const NvmlReturn result = nvml.init(); result != 0) {
          why = std::string("NVML: ") +
                (nvml.error_text != nullptr ? nvml.error_text(result) : "cannot start");
        }
      }
      loaded = why.empty();
      if (!loaded) answer = {{"error", why}, {"absent", true}};
    }
    if (loaded) answer = sample_all(nvml);
    const std::string text = dump(answer) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return 0;
  }
  return 0;
}

}  // namespace faultline
