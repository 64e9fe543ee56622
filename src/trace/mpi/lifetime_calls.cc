// The beginning and the end of MPI, and of communicators: those are met as they are made, in the
// same order on all their members, which tells communicators of the same members apart.
#include "trace/mpi/weak_mpi.h"

#include "trace/faultline_trace.h"
#include "trace/mpi/communicator_state.h"

namespace faultline::trace::mpi {

namespace {

int met(int result, const MPI_Comm* made) {
  if (result == MPI_SUCCESS && recording_writer() != nullptr) state_of(*made);
  return result;
}

}  // namespace

extern "C" {

FAULTLINE_API int MPI_Init(int* count, char*** arguments) {
  const int result = PMPI_Init(count, arguments);
  if (result == MPI_SUCCESS) begin_recording(MPI_THREAD_SINGLE);
  return result;
}
FAULTLINE_API int MPI_Init_thread(int* count, char*** arguments, int required, int* provided) {
  const int result = PMPI_Init_thread(count, arguments, required, provided);
  if (result == MPI_SUCCESS) begin_recording(*provided);
  return result;
}
FAULTLINE_API int MPI_Finalize() {
  end_recording();
  return PMPI_Finalize();
}
FAULTLINE_API int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return met(PMPI_Comm_dup(comm, made), made);
}
FAULTLINE_API int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return met(PMPI_Comm_split(comm, color, key, made), made);
}
FAULTLINE_API int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                      MPI_Comm* made) {
  return met(PMPI_Comm_split_type(comm, type, key, info, made), made);
}
FAULTLINE_API int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return met(PMPI_Comm_create(comm, group, made), made);
}
FAULTLINE_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  return met(PMPI_Comm_create_group(comm, group, tag, made), made);
}
FAULTLINE_API int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[],
                                  const int periods[], int reorder, MPI_Comm* made) {
  return met(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made), made);
}

}  // extern "C"

}  // namespace faultline::trace::mpi
