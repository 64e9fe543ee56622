// Small files of the agent's own, replaced whole so that a crash leaves the old or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace faultline {

/// not_found, exhausted (longer than `bytes_max`) or unavailable.
Result<std::string> read_small_file(const std::filesystem::path& path, std::uint64_t bytes_max);
/// Up to `bytes` from `offset` on; fewer at the end.
Result<std::string> read_file_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t bytes);
/// Writes beside and renames. `sync` makes it survive the machine's death.
Status write_small_file(const std::filesystem::path& path, std::string_view content, bool sync);

}  // namespace faultline
