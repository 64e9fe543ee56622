// How a stream is packed, from its first bytes. Its name is not asked.
#pragma once

#include <cstddef>
#include <string_view>

namespace faultline {

enum class Packing { none, gzip, zstd, xz, bzip2, tar, zip };

constexpr std::size_t packing_head_bytes = 512;  // a tar archive's first header

/// `head`: the first packing_head_bytes of the stream, fewer if it ends before. A PyTorch
/// checkpoint is a zip archive that holds nothing but numbers: it counts as not packed, so nobody
/// unpacks it.
Packing packing_of(std::string_view head);

}  // namespace faultline
