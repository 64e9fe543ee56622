// The few functions of NVML that are needed, declared here so that neither its header nor the
// library must be there to build. Names, types and constants are those of NVIDIA's public nvml.h
// (checked against version 12.535, the field values against 12.8 and 13.3).
#pragma once

#include <cstddef>
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

union NvmlValue {  // nvmlValue_t; which member holds is said by nvmlValueType_t
  double as_double;
  unsigned int as_unsigned_int;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  signed long long as_signed_long_long;
  int as_signed_int;
  unsigned short as_unsigned_short;
};

struct NvmlFieldValue {  // nvmlFieldValue_t
  unsigned int field_id;
  unsigned int scope_id;
  long long timestamp;
  long long latency_usec;
  unsigned int value_type;  // nvmlValueType_t
  NvmlReturn result;        // of this field alone; the value means nothing unless it is 0
  NvmlValue value;
};
// The driver writes into an array of these: a wrong layout would be a wrong reading, or worse.
static_assert(sizeof(NvmlValue) == 8 && sizeof(NvmlFieldValue) == 40);
static_assert(offsetof(NvmlFieldValue, field_id) == 0 && offsetof(NvmlFieldValue, scope_id) == 4);
static_assert(offsetof(NvmlFieldValue, timestamp) == 8 &&
              offsetof(NvmlFieldValue, latency_usec) == 16);
static_assert(offsetof(NvmlFieldValue, value_type) == 24 && offsetof(NvmlFieldValue, result) == 28);
static_assert(offsetof(NvmlFieldValue, value) == 32);

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
  NvmlReturn (*field_values)(NvmlDevice, int, NvmlFieldValue*) = nullptr;
  const char* (*error_text)(NvmlReturn) = nullptr;
};

/// "" if loaded, else why not. The library stays loaded: unloading a driver's library gains
/// nothing.
std::string load_nvml(NvmlLibrary& library);

}  // namespace faultline
