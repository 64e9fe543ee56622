// What became of the process that writes a black box.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/time.h"
#include "ingest/ring_snapshot.h"

namespace faultline {

enum class WriterLife {
  running,
  stopped,    // by SIGSTOP or a debugger
  ended,      // it is gone, or waits to be buried
  elsewhere,  // of another machine, boot or pid namespace: it cannot be asked for here
};
std::string_view to_text(WriterLife life);

WriterLife life_of_writer(const RingIdentity& identity,
                          const std::filesystem::path& proc = "/proc");

}  // namespace faultline
