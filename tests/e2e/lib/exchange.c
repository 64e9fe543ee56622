/* A little of everything that MPI does with communicators, for the black box to record. */
#include <mpi.h>

enum { rounds = 100, values = 1024, few = 10 };

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parity, twin;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);
  /* What some do among themselves changes nothing of what the others call the next one. */
  for (int more = 0; more < 3 && rank % 2 == 0; ++more) {
    MPI_Comm brief;
    MPI_Comm_dup(parity, &brief);
    MPI_Comm_free(&brief);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  double given[values] = {rank}, got[values];
  for (int round = 0; round < rounds; ++round) {
    MPI_Request both[2], later;
    MPI_Status statuses[2];
    MPI_Allreduce(given, got, values, MPI_DOUBLE, MPI_SUM, parity);
    MPI_Isend(given, few, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Irecv(got, few, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, statuses);
    MPI_Iallreduce(given, got, few, MPI_DOUBLE, MPI_SUM, twin, &later);
    MPI_Wait(&later, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&parity);
  MPI_Finalize();
  return 0;
}
