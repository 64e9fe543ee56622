// Calls that do not wait, by their requests, until those complete. Bounded: what finds no place
// ends as `launched`. Any thread.
#pragma once

#include "trace/mpi/recorded_call.h"

namespace faultline::trace::mpi {

inline constexpr std::uint32_t requests_max = 4096;
inline constexpr std::uint32_t request_probes_max = 32;

/// `call` came back with `request`; MPI_REQUEST_NULL: it is over.
void keep_request(MPI_Request request, const RecordedCall& call, int result);
/// It completed, or was cancelled and freed. Does nothing for one that is not known.
void complete_request(MPI_Request request, int result);
/// Nobody will say when it completes: it ends as `launched`.
void give_up_request(MPI_Request request);
/// The program waits for it: whom it waits for is seen until it completes.
void begin_wait_for(MPI_Request request);

/// A call that waits: `recorded` ends with it. Gives what it gives.
template <class Call>
int wait_in(const RecordedCall& recorded, const Call& call) {
  const int result = call();
  finish_call(recorded, result);
  return result;
}

/// A call that does not wait: `recorded` ends with its request.
template <class Call>
int hand_in(const RecordedCall& recorded, MPI_Request* request, const Call& call) {
  const int result = call();
  keep_request(*request, recorded, result);
  return result;
}

}  // namespace faultline::trace::mpi
