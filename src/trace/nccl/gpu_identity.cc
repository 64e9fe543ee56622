#include "trace/nccl/gpu_identity.h"

#include <ctype.h>
#include <stdio.h>

#include "trace/nccl/loaded_libraries.h"

namespace faultline::trace::nccl {

namespace {

// Of the CUDA driver and of HIP alike: 0 is success, a device is an int, a UUID is 16 bytes.
using GetDevice = int (*)(int* device);
using GetBusId = int (*)(char* text, int size, int device);
using GetUuid = int (*)(unsigned char* uuid, int device);

void write_uuid(const unsigned char (&uuid)[16], GpuIdentity& gpu) {
  ::snprintf(gpu.uuid, sizeof gpu.uuid,  // tidy: allow print
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0],
             uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9],
             uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
}

}  // namespace

GpuIdentity current_gpu() {
  GpuIdentity gpu;
  void* cuda = find_loaded("libcuda.so.1");
  const bool is_hip = cuda == nullptr;
  void* library = is_hip ? find_loaded("libamdhip64.so") : cuda;
  auto* get_device = find_function<GetDevice>(library, is_hip ? "hipGetDevice" : "cuCtxGetDevice");
  if (get_device == nullptr || get_device(&gpu.device) != 0) {
    gpu.device = -1;
    return gpu;
  }
  auto* get_bus_id =
      find_function<GetBusId>(library, is_hip ? "hipDeviceGetPCIBusId" : "cuDeviceGetPCIBusId");
  if (get_bus_id == nullptr || get_bus_id(gpu.address, sizeof gpu.address, gpu.device) != 0)
    gpu.address[0] = '\0';
  gpu.address[sizeof gpu.address - 1] = '\0';
  for (char& letter : gpu.address) letter = static_cast<char>(::tolower(letter));
  auto* get_uuid = find_function<GetUuid>(library, is_hip ? "hipDeviceGetUuid" : "cuDeviceGetUuid");
  unsigned char uuid[16] = {};
  if (get_uuid != nullptr && get_uuid(uuid, gpu.device) == 0) write_uuid(uuid, gpu);
  return gpu;
}

}  // namespace faultline::trace::nccl
