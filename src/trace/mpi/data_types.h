// MPI's datatypes as the black box numbers them.
#pragma once

#include "trace/mpi/weak_mpi.h"

#include "ringfmt/ring_words.h"

namespace faultline::trace::mpi {

inline ringfmt::DataType data_type_of(MPI_Datatype type) {
  using ringfmt::DataType;
  if (type == MPI_FLOAT) return DataType::float32;
  if (type == MPI_DOUBLE) return DataType::float64;
  if (type == MPI_INT || type == MPI_INT32_T) return DataType::int32;
  if (type == MPI_BYTE || type == MPI_UINT8_T || type == MPI_UNSIGNED_CHAR) return DataType::uint8;
  if (type == MPI_CHAR || type == MPI_SIGNED_CHAR || type == MPI_INT8_T) return DataType::int8;
  if (type == MPI_LONG || type == MPI_LONG_LONG || type == MPI_INT64_T)
    return sizeof(long) == 8 || type != MPI_LONG ? DataType::int64 : DataType::int32;
  if (type == MPI_UNSIGNED || type == MPI_UINT32_T) return DataType::uint32;
  if (type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG || type == MPI_UINT64_T)
    return DataType::uint64;
  return DataType::other;
}

}  // namespace faultline::trace::mpi
