// Which GPU the calling thread drives, asked of the driver's library that the process has loaded
// already: CUDA's, or HIP's. Nothing is loaded for it.
#pragma once

namespace faultline::trace::nccl {

struct GpuIdentity {
  int device = -1;        // its number in this process; -1: not known
  char address[24] = {};  // "0000:3b:00.0", or ""
  char uuid[48] = {};     // "GPU-...", or ""
};

GpuIdentity current_gpu();

}  // namespace faultline::trace::nccl
