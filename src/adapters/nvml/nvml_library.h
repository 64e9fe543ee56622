// The few functions of NVML that are needed, declared here so that neither its header nor the
// library must be there to build. Names, types and constants are those of NVIDIA's public nvml.h
// (checked against version 12.535).
#pragma once

#include <cstdint>
#include <string>

namespace faultline {

using NvmlDevice = void*;  // nvmlDevice_t, opaque
using NvmlReturn = int;    // nvmlReturn_t; 0 is success

struct NvmlPciInfo {  // nvmlPciInfo_t (v3)
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_sub_system_id;
  char bus_id[32];
};

/// Absent functions are null: drivers differ by years.
struct NvmlLibrary {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*device_count)(unsigned int*) = nullptr;
  NvmlReturn (*device_by_index)(unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*pci_info)(NvmlDevice, NvmlPciInfo*) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*serial)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, int, unsigned int*) = nullptr;
  NvmlReturn (*throttle_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlReturn (*ecc_total)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  NvmlReturn (*remapped_rows)(NvmlDevice, unsigned int*, unsigned int*, unsigned int*,
                              unsigned int*) = nullptr;
  const char* (*error_text)(NvmlReturn) = nullptr;
};

/// "" if loaded, else why not. The library stays loaded: unloading a driver's library gains
/// nothing.
std::string load_nvml(NvmlLibrary& library);

}  // namespace faultline
