// Where black boxes lie: FAULTLINE_RING_DIR, else a folder of the user's own in /dev/shm. A name
// says job, rank, pid, start time and pid namespace, so that nobody who comes later has it, too:
// "4711-3-12345-8812345-4026531836-0.ring".
#pragma once

#include "ringfmt/ring_layout.h"

namespace faultline::trace {

inline constexpr std::size_t ring_path_bytes = 512;

/// Opens the folder, and makes it if it is not there. A descriptor, or -1 if others could put files
/// there in our name.
int open_ring_folder(char (&path)[ring_path_bytes]);

/// Of processes that are gone, the newest `stale_files_max` stay for the agent. False if the folder
/// holds so many files of anybody that none may be added.
bool make_room(int folder, const ringfmt::Header& identity);

/// A new empty file, which nobody else can have opened for writing. A descriptor, or -1.
int create_ring_file(int folder, const ringfmt::Header& identity, char (&name)[ring_path_bytes]);

}  // namespace faultline::trace
