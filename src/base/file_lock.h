// A file that is locked for as long as this lives: one folder, one program. The kernel gives it up
// with the process, so a crash leaves none behind.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"

namespace faultline {

class FileLock {
 public:
  /// Makes the file if it is not there. unavailable if somebody else has it and `wait` is false.
  static Result<FileLock> take(const std::filesystem::path& path, bool wait);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace faultline
