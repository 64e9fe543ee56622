#include "adapters/nvml/nvml_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace faultline {
namespace {

/// The first of the names that the library has; null if none.
template <class Function>
void find(void* handle, Function& function, const char* name, const char* older = nullptr) {
  void* symbol = ::dlsym(handle, name);
  if (symbol == nullptr && older != nullptr) symbol = ::dlsym(handle, older);
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

std::string load_nvml(NvmlLibrary& library) {
  const char* named = std::getenv("FAULTLINE_NVML_LIBRARY");  // for tests
  void* handle = ::dlopen(named != nullptr ? named : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return why != nullptr ? why : "no libnvidia-ml.so.1";
  }
  find(handle, library.init, "nvmlInit_v2", "nvmlInit");
  find(handle, library.device_count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  find(handle, library.device_by_index, "nvmlDeviceGetHandleByIndex_v2",
       "nvmlDeviceGetHandleByIndex");
  find(handle, library.pci_info, "nvmlDeviceGetPciInfo_v3");  // older ones have another layout
  find(handle, library.uuid, "nvmlDeviceGetUUID");
  find(handle, library.serial, "nvmlDeviceGetSerial");
  find(handle, library.temperature, "nvmlDeviceGetTemperature");
  find(handle, library.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(handle, library.ecc_total, "nvmlDeviceGetTotalEccErrors");
  find(handle, library.remapped_rows, "nvmlDeviceGetRemappedRows");
  find(handle, library.field_values, "nvmlDeviceGetFieldValues");
  find(handle, library.error_text, "nvmlErrorString");
  const bool usable = library.init != nullptr && library.device_count != nullptr &&
                      library.device_by_index != nullptr && library.pci_info != nullptr;
  return usable ? std::string() : "libnvidia-ml.so.1 is too old";
}

}  // namespace faultline
