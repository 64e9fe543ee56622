// A black box on disk or in shared memory, which belongs to somebody else: opened without following
// a link, looked at before it is believed, read and never mapped.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "ingest/ring_reader.h"

namespace faultline {

inline constexpr std::size_t ring_files_max = 4096;  // of one folder; more than its writers make

class RingFile final : public RingBytes {
 public:
  /// not_found, permission_denied, invalid_argument (a link, a folder, a pipe, or far too long for
  /// a black box), unavailable.
  static Result<RingFile> open(const std::filesystem::path& path);
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&&) = delete;
  ~RingFile() override;

  std::size_t read(std::uint64_t offset, std::span<std::byte> into) override;
  /// Whose file it is; a black box that says another's is not to be trusted.
  [[nodiscard]] std::uint32_t owner() const { return owner_; }

 private:
  RingFile(int descriptor, std::uint32_t owner) : descriptor_(descriptor), owner_(owner) {}
  int descriptor_;
  std::uint32_t owner_;
};

/// Reads it; counts foreign_owner if the owner of the file is not the one that it names.
Result<RingSnapshot> read_ring_file(const std::filesystem::path& path);

/// The black boxes of a folder, by name. exhausted beyond ring_files_max.
Result<std::vector<std::filesystem::path>> rings_in(const std::filesystem::path& folder);

}  // namespace faultline
