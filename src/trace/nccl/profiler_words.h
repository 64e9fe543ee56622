// What NCCL calls functions, types, algorithms and protocols, as the black box numbers them. The
// names may be null or new: those are `other`.
#pragma once

#include <cstdint>

#include "ringfmt/ring_words.h"

namespace faultline::trace::nccl {

ringfmt::OperationKind operation_kind_of(const char* func);
ringfmt::DataType data_type_of(const char* name);
ringfmt::Algorithm algorithm_of(const char* name);
ringfmt::Protocol protocol_of(const char* name);

/// Version 1 has the numbers of NCCL's own lists.
ringfmt::OperationKind operation_kind_of(std::uint8_t func);
ringfmt::DataType data_type_of(std::uint8_t number);
ringfmt::Algorithm algorithm_of(std::uint8_t number);
ringfmt::Protocol protocol_of(std::uint8_t number);

}  // namespace faultline::trace::nccl
