#include "adapters/nvml/nvml_library.h"

#include <cstdlib>

#include "base/dynamic_library.h"

namespace faultline {

std::string load_nvml(NvmlLibrary& library) {
  const char* named = std::getenv("FAULTLINE_NVML_LIBRARY");  // for tests
  const DynamicLibrary nvml(named != nullptr ? named : "libnvidia-ml.so.1");
  if (!nvml.loaded()) return nvml.error();
  nvml.find("nvmlInit_v2", library.init, "nvmlInit");
  nvml.find("nvmlDeviceGetCount_v2", library.device_count, "nvmlDeviceGetCount");
  nvml.find("nvmlDeviceGetHandleByIndex_v2", library.device_by_index, "nvmlDeviceGetHandleByIndex");
  nvml.find("nvmlDeviceGetPciInfo_v3", library.pci_info);  // older ones have another layout
  nvml.find("nvmlDeviceGetUUID", library.uuid);
  nvml.find("nvmlDeviceGetSerial", library.serial);
  nvml.find("nvmlDeviceGetTemperature", library.temperature);
  nvml.find("nvmlDeviceGetCurrentClocksEventReasons", library.throttle_reasons,
            "nvmlDeviceGetCurrentClocksThrottleReasons");
  nvml.find("nvmlDeviceGetTotalEccErrors", library.ecc_total);
  nvml.find("nvmlDeviceGetRemappedRows", library.remapped_rows);
  nvml.find("nvmlDeviceGetFieldValues", library.field_values);
  nvml.find("nvmlErrorString", library.error_text);
  const bool usable = library.init != nullptr && library.device_count != nullptr &&
                      library.device_by_index != nullptr && library.pci_info != nullptr;
  return usable ? std::string() : "libnvidia-ml.so.1 is too old";
}

}  // namespace faultline
