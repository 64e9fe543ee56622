// Small files read and replaced whole. Streams of the standard library are not used for it: an
// iterator over a file that cannot be read (a process that ended between open and read, a folder, a
// bad disk) throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace faultline {

/// Follows links; never waits for a FIFO. not_found, permission_denied, exhausted (longer than
/// `bytes_max`) or unavailable.
Result<std::string> read_small_file(const std::filesystem::path& path, std::uint64_t bytes_max);
/// Up to `bytes` from `offset` on; fewer at the end.
Result<std::string> read_file_part(const std::filesystem::path& path, std::uint64_t offset,
                                   std::uint64_t bytes);
/// Writes to `path`.new and renames it, so that a crash leaves the old or the new one; after an
/// error nothing of it stays. `sync` makes it survive the machine's death.
Status write_small_file(const std::filesystem::path& path, std::string_view content, bool sync);

}  // namespace faultline
