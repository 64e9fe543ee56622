// The compiled form of a signature database on disk. Only a cache: whatever is odd about a file, it
// is not used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace faultline {

/// Where the compiled form with this key lies below `folder`.
std::filesystem::path cache_path(const std::filesystem::path& folder, const std::string& key);

/// The bytes written with this key; not_found if there is no file, corrupt if it is not what
/// write_cache wrote, belongs to somebody else (its content steers a privileged process), is a link
/// or not a plain file.
Result<std::string> read_cache(const std::filesystem::path& file, const std::string& key);

/// Replaces the file in one step: a reader sees the old bytes or the new ones. Makes the folder,
/// for the owner alone.
Status write_cache(const std::filesystem::path& file, const std::string& key,
                   std::string_view bytes);

}  // namespace faultline
