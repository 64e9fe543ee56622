// From one stream of bytes to the streams that it holds, layer by layer: a log in a gzip file in a
// tar archive in a zip. Nothing is kept but a block a layer.
#pragma once

#include "adapters/files/reading.h"

namespace faultline {

/// Calls `visit` with `file` itself if it is not packed, else with all that it unpacks to. Troubles
/// are named in `reading`.
void unpack(InputReader& reader, const InputFile& file, Reading& reading,
            const InputVisitor& visit);

}  // namespace faultline
