// MPI's ways to wait for requests. They null what completed, so each is looked at before and after.
#include "trace/mpi/weak_mpi.h"

#include "trace/faultline_trace.h"
#include "trace/mpi/open_requests.h"

namespace faultline::trace::mpi {

namespace {

// Requests of one call that are looked at together; a longer list to wait for all of is waited for
// piece by piece, and of a longer list of which any may complete nothing more is recorded.
constexpr int requests_at_once_max = 1024;

/// The requests as they were before the call.
class Before {
 public:
  Before(int count, const MPI_Request* requests)
      : count_(count > requests_at_once_max ? 0 : count) {
    if (recording_writer() == nullptr) count_ = 0;
    for (int index = 0; index < count_; ++index) requests_[index] = requests[index];
    if (count > requests_at_once_max)
      for (int index = 0; index < count; ++index) give_up_request(requests[index]);
  }
  void begin_waits() const {
    for (int index = 0; index < count_; ++index) begin_wait_for(requests_[index]);
  }
  void complete(int index, int result) const {
    if (index >= 0 && index < count_) complete_request(requests_[index], result);
  }
  void complete_all(int result) const {
    for (int index = 0; index < count_; ++index) complete(index, result);
  }

 private:
  int count_;
  MPI_Request requests_[requests_at_once_max];
};

int wait_all_of(int count, MPI_Request* requests, MPI_Status* statuses) {
  const Before before(count, requests);
  before.begin_waits();
  const int result = PMPI_Waitall(count, requests, statuses);
  before.complete_all(result);
  return result;
}

}  // namespace

extern "C" {

FAULTLINE_API int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const MPI_Request before = *request;
  begin_wait_for(before);
  const int result = PMPI_Wait(request, status);
  complete_request(before, result);
  return result;
}
FAULTLINE_API int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const MPI_Request before = *request;
  const int result = PMPI_Test(request, flag, status);
  if (*flag != 0) complete_request(before, result);
  return result;
}
FAULTLINE_API int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  int result = MPI_SUCCESS;
  for (int done = 0; result == MPI_SUCCESS && (done < count || done == 0);
       done += requests_at_once_max) {
    const int piece = count - done < requests_at_once_max ? count - done : requests_at_once_max;
    MPI_Status* of_piece = statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses + done;
    result = wait_all_of(piece, requests + done, of_piece);
  }
  return result;
}
FAULTLINE_API int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const Before before(count, requests);
  const int result = PMPI_Waitany(count, requests, index, status);
  before.complete(*index == MPI_UNDEFINED ? -1 : *index, result);
  return result;
}
FAULTLINE_API int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag,
                              MPI_Status* status) {
  const Before before(count, requests);
  const int result = PMPI_Testany(count, requests, index, flag, status);
  if (*flag != 0) before.complete(*index == MPI_UNDEFINED ? -1 : *index, result);
  return result;
}
FAULTLINE_API int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const Before before(count, requests);
  const int result = PMPI_Testall(count, requests, flag, statuses);
  if (*flag != 0) before.complete_all(result);
  return result;
}
FAULTLINE_API int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                               MPI_Status statuses[]) {
  const Before before(count, requests);
  const int result = PMPI_Waitsome(count, requests, done, indices, statuses);
  for (int at = 0; *done != MPI_UNDEFINED && at < *done; ++at) before.complete(indices[at], result);
  return result;
}
FAULTLINE_API int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                               MPI_Status statuses[]) {
  const Before before(count, requests);
  const int result = PMPI_Testsome(count, requests, done, indices, statuses);
  for (int at = 0; *done != MPI_UNDEFINED && at < *done; ++at) before.complete(indices[at], result);
  return result;
}
FAULTLINE_API int MPI_Request_free(MPI_Request* request) {
  give_up_request(*request);
  return PMPI_Request_free(request);
}

}  // extern "C"

}  // namespace faultline::trace::mpi
