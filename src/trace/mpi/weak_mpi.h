// MPI's declarations, all of them weak: this library is loaded before every program that a script
// starts, and in those that have no MPI nothing of it is there, nor called.
#pragma once

#include <mpi.h>

#pragma weak PMPI_Allgather
#pragma weak PMPI_Allgatherv
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Alltoall
#pragma weak PMPI_Alltoallv
#pragma weak PMPI_Barrier
#pragma weak PMPI_Bcast
#pragma weak PMPI_Cart_create
#pragma weak PMPI_Comm_create
#pragma weak PMPI_Comm_create_group
#pragma weak PMPI_Comm_create_keyval
#pragma weak PMPI_Comm_dup
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_get_name
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_set_attr
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_split
#pragma weak PMPI_Comm_split_type
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Exscan
#pragma weak PMPI_Finalize
#pragma weak PMPI_Gather
#pragma weak PMPI_Gatherv
#pragma weak PMPI_Get_version
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Iallgather
#pragma weak PMPI_Iallreduce
#pragma weak PMPI_Ialltoall
#pragma weak PMPI_Ibarrier
#pragma weak PMPI_Ibcast
#pragma weak PMPI_Init
#pragma weak PMPI_Init_thread
#pragma weak PMPI_Irecv
#pragma weak PMPI_Ireduce
#pragma weak PMPI_Ireduce_scatter_block
#pragma weak PMPI_Isend
#pragma weak PMPI_Issend
#pragma weak PMPI_Recv
#pragma weak PMPI_Reduce
#pragma weak PMPI_Reduce_scatter
#pragma weak PMPI_Reduce_scatter_block
#pragma weak PMPI_Request_free
#pragma weak PMPI_Scan
#pragma weak PMPI_Scatter
#pragma weak PMPI_Scatterv
#pragma weak PMPI_Send
#pragma weak PMPI_Sendrecv
#pragma weak PMPI_Ssend
#pragma weak PMPI_Test
#pragma weak PMPI_Testall
#pragma weak PMPI_Testany
#pragma weak PMPI_Testsome
#pragma weak PMPI_Wait
#pragma weak PMPI_Waitall
#pragma weak PMPI_Waitany
#pragma weak PMPI_Waitsome

#if defined(OPEN_MPI)  // whose constants are addresses
#pragma weak OMPI_C_MPI_COMM_NULL_COPY_FN
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_double
#pragma weak ompi_mpi_float
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_int32_t
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_mpi_int8_t
#pragma weak ompi_mpi_long
#pragma weak ompi_mpi_long_long_int
#pragma weak ompi_mpi_signed_char
#pragma weak ompi_mpi_uint32_t
#pragma weak ompi_mpi_uint64_t
#pragma weak ompi_mpi_uint8_t
#pragma weak ompi_mpi_unsigned
#pragma weak ompi_mpi_unsigned_char
#pragma weak ompi_mpi_unsigned_long
#pragma weak ompi_mpi_unsigned_long_long
#pragma weak ompi_request_null
#endif
