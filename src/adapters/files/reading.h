// What is known while one source is read: how much it may unpack to, and where troubles are named.
// Used by the one thread that visits the source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/input.h"

namespace faultline {

/// Of one source. A log packs 10 to 50 times smaller and one line repeated for ever some 300 times;
/// a bomb of zeros 1,000 times in gzip and far more in zstd and bzip2.
struct UnpackLimits {
  std::uint64_t ratio_max = 500;
  std::uint64_t ratio_free_bytes = 64ULL << 20;  // so few are no bomb, whatever their ratio
  std::uint64_t source_bytes_max = 64ULL << 30;  // all that is unpacked, at every layer
  std::uint64_t member_bytes_max = 16ULL << 30;  // of one unpacked stream
  std::uint64_t members_max = 100'000;
  int layers_max = 6;  // an archive in an archive in an archive, each of them compressed
};

class Reading {
 public:
  /// `warn` must live as long as this.
  Reading(const UnpackLimits& limits, const InputWarningSink& warn)
      : limits_(limits), warn_(warn) {}

  [[nodiscard]] const UnpackLimits& limits() const { return limits_; }
  /// The stream that is being visited: what breaks now is said of it.
  void now_at(std::string_view name) { now_at_ = name; }

  void note(std::string_view file, std::string_view what, std::string_view left_out,
            bool may_matter = true) const;
  /// Names what is wrong with `layer` after the first `offset` bytes of it: once, where it is
  /// found. Whoever gets the error passes it on.
  [[nodiscard]] Error broken(ErrorCode code, std::string_view layer, std::string_view what,
                             std::uint64_t offset) const;

  void add_packed(std::uint64_t bytes) { packed_bytes_ += bytes; }
  /// So many bytes more, out of any layer: what is to be said if they pass a limit.
  [[nodiscard]] std::optional<std::string> add_unpacked(std::uint64_t bytes);
  /// A limit was passed: nothing more is read of this source.
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  [[nodiscard]] std::optional<std::string> add_member();

 private:
  UnpackLimits limits_;
  const InputWarningSink& warn_;
  std::string now_at_;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t unpacked_bytes_ = 0;
  std::uint64_t members_ = 0;
  bool exhausted_ = false;
};

}  // namespace faultline
