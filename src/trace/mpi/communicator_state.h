// What this library knows of an MPI communicator, kept with it as an attribute, so that it goes
// when the communicator does. One that was made by a call that we do not see is met at its first
// use.
#pragma once

#include "trace/mpi/weak_mpi.h"

#include "trace/ring_writer.h"

namespace faultline::trace::mpi {

// As many as a black box holds, twice: those beyond are counted there, and share one state.
inline constexpr std::uint32_t states_max = 256;

struct CommunicatorState {
  std::uint32_t in_use;
  CommunicatorHandle communicator;  // 0: not recorded
  std::uint64_t collectives;        // started so far: the sequence number of the next
  std::int32_t rank;
};

/// Null outside of MPI_Init to MPI_Finalize, and where there is no black box. Any thread.
Writer* recording_writer();

/// To be called by MPI_Init and MPI_Finalize, once each.
void begin_recording(int thread_level);
void end_recording();

/// Never null; `communicator` is 0 where nothing is recorded. Any thread, but no two that meet one
/// communicator for the first time at once, as MPI demands of its users.
CommunicatorState& state_of(MPI_Comm comm);

}  // namespace faultline::trace::mpi
