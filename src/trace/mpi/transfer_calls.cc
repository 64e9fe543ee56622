// MPI's sends and receives; see collective_calls.cc.
#include "trace/mpi/weak_mpi.h"

#include "trace/faultline_trace.h"
#include "trace/mpi/open_requests.h"

namespace faultline::trace::mpi {

namespace {

using Kind = ringfmt::OperationKind;

CallFacts sending(int count, MPI_Datatype type, int to) {
  return {Kind::send, type, count, to, true};
}
CallFacts receiving(int count, MPI_Datatype type, int from) {
  return {Kind::receive, type, count, from, true};
}

}  // namespace

extern "C" {

FAULTLINE_API int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                           MPI_Comm comm) {
  return wait_in(start_transfer(comm, sending(count, type, to)),
                 [&] { return PMPI_Send(buffer, count, type, to, tag, comm); });
}
FAULTLINE_API int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                            MPI_Comm comm) {
  return wait_in(start_transfer(comm, sending(count, type, to)),
                 [&] { return PMPI_Ssend(buffer, count, type, to, tag, comm); });
}
FAULTLINE_API int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                            MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_transfer(comm, not_waiting(sending(count, type, to))), request,
                 [&] { return PMPI_Isend(buffer, count, type, to, tag, comm, request); });
}
FAULTLINE_API int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                             MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_transfer(comm, not_waiting(sending(count, type, to))), request,
                 [&] { return PMPI_Issend(buffer, count, type, to, tag, comm, request); });
}
FAULTLINE_API int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Status* status) {
  return wait_in(start_transfer(comm, receiving(count, type, from)),
                 [&] { return PMPI_Recv(buffer, count, type, from, tag, comm, status); });
}
FAULTLINE_API int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag,
                            MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_transfer(comm, not_waiting(receiving(count, type, from))), request,
                 [&] { return PMPI_Irecv(buffer, count, type, from, tag, comm, request); });
}
/// Both at once: two operations, which end together.
FAULTLINE_API int MPI_Sendrecv(const void* send, int count, MPI_Datatype type, int to, int tag,
                               void* receive, int receive_count, MPI_Datatype receive_type,
                               int from, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  const RecordedCall sent = start_transfer(comm, sending(count, type, to));
  const RecordedCall received = start_transfer(comm, receiving(receive_count, receive_type, from));
  const int result = PMPI_Sendrecv(send, count, type, to, tag, receive, receive_count, receive_type,
                                   from, receive_tag, comm, status);
  finish_call(sent, result);
  finish_call(received, result);
  return result;
}

}  // extern "C"

}  // namespace faultline::trace::mpi
