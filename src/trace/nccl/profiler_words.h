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

/// The word of last time, known by where it stands: NCCL's are constants, and looking one up costs
/// a quarter of what an operation does. For one thread at a time, and one life of NCCL's library.
template <class Value>
struct LastWord {
  const char* name;
  Value value;

  Value of(const char* wanted, Value (*look_up)(const char*)) {
    if (wanted == name && name != nullptr) return value;
    name = wanted;
    return value = look_up(wanted);
  }
};

struct LastWords {
  LastWord<ringfmt::OperationKind> func;
  LastWord<ringfmt::DataType> data_type;
  LastWord<ringfmt::Algorithm> algorithm;
  LastWord<ringfmt::Protocol> protocol;
};

/// Version 1 has the numbers of NCCL's own lists.
ringfmt::OperationKind operation_kind_of(std::uint8_t func);
ringfmt::DataType data_type_of(std::uint8_t number);
ringfmt::Algorithm algorithm_of(std::uint8_t number);
ringfmt::Protocol protocol_of(std::uint8_t number);

}  // namespace faultline::trace::nccl
