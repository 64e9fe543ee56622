// The files at and below the paths that the user named. Links inside folders are not followed: what
// they lead to lies below a named path too, and is read there under its own name, or it is none of
// ours and is named in a warning.
#pragma once

#include <memory>

#include "adapters/files/reading.h"

namespace faultline {

struct FolderLimits {
  std::size_t files_max = 1'000'000;
  int depth_max = 64;
};

std::unique_ptr<InputFinder> make_input_finder(const UnpackLimits& unpack = {},
                                               const FolderLimits& folders = {});

}  // namespace faultline
