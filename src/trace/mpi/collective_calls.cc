// MPI's collectives, blocking and not, through its profiling interface: whoever loads this library
// before MPI's has its calls recorded, and each goes on to the PMPI_ function that does it.
#include "trace/mpi/weak_mpi.h"

#include "trace/faultline_trace.h"
#include "trace/mpi/open_requests.h"

namespace faultline::trace::mpi {

namespace {

using Kind = ringfmt::OperationKind;

CallFacts facts(Kind kind, MPI_Datatype type, std::int64_t count, int root = -1) {
  return {kind, type, count, root, true};
}

}  // namespace

extern "C" {

FAULTLINE_API int MPI_Barrier(MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::barrier, MPI_DATATYPE_NULL, 0)),
                 [&] { return PMPI_Barrier(comm); });
}
FAULTLINE_API int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_collective(comm, not_waiting(facts(Kind::barrier, MPI_DATATYPE_NULL, 0))),
                 request, [&] { return PMPI_Ibarrier(comm, request); });
}
FAULTLINE_API int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::broadcast, type, count, root)),
                 [&] { return PMPI_Bcast(buffer, count, type, root, comm); });
}
FAULTLINE_API int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                             MPI_Request* request) {
  return hand_in(start_collective(comm, not_waiting(facts(Kind::broadcast, type, count, root))),
                 request, [&] { return PMPI_Ibcast(buffer, count, type, root, comm, request); });
}
FAULTLINE_API int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op op, int root, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::reduce, type, count, root)),
                 [&] { return PMPI_Reduce(send, receive, count, type, op, root, comm); });
}
FAULTLINE_API int MPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type,
                              MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_collective(comm, not_waiting(facts(Kind::reduce, type, count, root))),
                 request,
                 [&] { return PMPI_Ireduce(send, receive, count, type, op, root, comm, request); });
}
FAULTLINE_API int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type,
                                MPI_Op op, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::all_reduce, type, count)),
                 [&] { return PMPI_Allreduce(send, receive, count, type, op, comm); });
}
FAULTLINE_API int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type,
                                 MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return hand_in(start_collective(comm, not_waiting(facts(Kind::all_reduce, type, count))), request,
                 [&] { return PMPI_Iallreduce(send, receive, count, type, op, comm, request); });
}
FAULTLINE_API int MPI_Reduce_scatter(const void* send, void* receive, const int counts[],
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::reduce_scatter, type, counts[0])),
                 [&] { return PMPI_Reduce_scatter(send, receive, counts, type, op, comm); });
}
FAULTLINE_API int MPI_Reduce_scatter_block(const void* send, void* receive, int count,
                                           MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::reduce_scatter, type, count)),
                 [&] { return PMPI_Reduce_scatter_block(send, receive, count, type, op, comm); });
}
FAULTLINE_API int MPI_Ireduce_scatter_block(const void* send, void* receive, int count,
                                            MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                            MPI_Request* request) {
  return hand_in(
      start_collective(comm, not_waiting(facts(Kind::reduce_scatter, type, count))), request,
      [&] { return PMPI_Ireduce_scatter_block(send, receive, count, type, op, comm, request); });
}
FAULTLINE_API int MPI_Allgather(const void* send, int count, MPI_Datatype type, void* receive,
                                int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::all_gather, receive_type, receive_count)), [&] {
    return PMPI_Allgather(send, count, type, receive, receive_count, receive_type, comm);
  });
}
FAULTLINE_API int MPI_Iallgather(const void* send, int count, MPI_Datatype type, void* receive,
                                 int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                                 MPI_Request* request) {
  return hand_in(
      start_collective(comm, not_waiting(facts(Kind::all_gather, receive_type, receive_count))),
      request, [&] {
        return PMPI_Iallgather(send, count, type, receive, receive_count, receive_type, comm,
                               request);
      });
}
FAULTLINE_API int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* receive,
                                 const int receive_counts[], const int places[],
                                 MPI_Datatype receive_type, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::all_gather, receive_type, receive_counts[0])),
                 [&] {
                   return PMPI_Allgatherv(send, count, type, receive, receive_counts, places,
                                          receive_type, comm);
                 });
}
FAULTLINE_API int MPI_Gather(const void* send, int count, MPI_Datatype type, void* receive,
                             int receive_count, MPI_Datatype receive_type, int root,
                             MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::gather, type, count, root)), [&] {
    return PMPI_Gather(send, count, type, receive, receive_count, receive_type, root, comm);
  });
}
FAULTLINE_API int MPI_Gatherv(const void* send, int count, MPI_Datatype type, void* receive,
                              const int receive_counts[], const int places[],
                              MPI_Datatype receive_type, int root, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::gather, type, count, root)), [&] {
    return PMPI_Gatherv(send, count, type, receive, receive_counts, places, receive_type, root,
                        comm);
  });
}
FAULTLINE_API int MPI_Scatter(const void* send, int count, MPI_Datatype type, void* receive,
                              int receive_count, MPI_Datatype receive_type, int root,
                              MPI_Comm comm) {
  return wait_in(
      start_collective(comm, facts(Kind::scatter, receive_type, receive_count, root)), [&] {
        return PMPI_Scatter(send, count, type, receive, receive_count, receive_type, root, comm);
      });
}
FAULTLINE_API int MPI_Scatterv(const void* send, const int counts[], const int places[],
                               MPI_Datatype type, void* receive, int receive_count,
                               MPI_Datatype receive_type, int root, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::scatter, receive_type, receive_count, root)),
                 [&] {
                   return PMPI_Scatterv(send, counts, places, type, receive, receive_count,
                                        receive_type, root, comm);
                 });
}
FAULTLINE_API int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive,
                               int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::all_to_all, receive_type, receive_count)), [&] {
    return PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
  });
}
FAULTLINE_API int MPI_Ialltoall(const void* send, int count, MPI_Datatype type, void* receive,
                                int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                                MPI_Request* request) {
  return hand_in(
      start_collective(comm, not_waiting(facts(Kind::all_to_all, receive_type, receive_count))),
      request, [&] {
        return PMPI_Ialltoall(send, count, type, receive, receive_count, receive_type, comm,
                              request);
      });
}
FAULTLINE_API int MPI_Alltoallv(const void* send, const int counts[], const int places[],
                                MPI_Datatype type, void* receive, const int receive_counts[],
                                const int receive_places[], MPI_Datatype receive_type,
                                MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::all_to_all, receive_type, receive_counts[0])),
                 [&] {
                   return PMPI_Alltoallv(send, counts, places, type, receive, receive_counts,
                                         receive_places, receive_type, comm);
                 });
}
FAULTLINE_API int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::scan, type, count)),
                 [&] { return PMPI_Scan(send, receive, count, type, op, comm); });
}
FAULTLINE_API int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  return wait_in(start_collective(comm, facts(Kind::scan, type, count)),
                 [&] { return PMPI_Exscan(send, receive, count, type, op, comm); });
}

}  // extern "C"

}  // namespace faultline::trace::mpi
