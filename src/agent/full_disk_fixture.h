// For tests: a disk that is full.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

namespace faultline {

/// While one lives, no file grows beyond `bytes`: a disk that is full in the middle of a write.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit full = before_;
    full.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &full);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace faultline
