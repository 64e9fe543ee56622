#include "trace/nccl/profiler_words.h"

#include <cstddef>

namespace faultline::trace::nccl {

namespace {

using ringfmt::Algorithm;
using ringfmt::DataType;
using ringfmt::OperationKind;
using ringfmt::Protocol;

template <class Value>
struct Word {
  const char* name;
  Value value;
};

// The most frequent come first: this is looked through for every operation.
constexpr Word<OperationKind> funcs[] = {
    {"AllReduce", OperationKind::all_reduce},
    {"AllGather", OperationKind::all_gather},
    {"ReduceScatter", OperationKind::reduce_scatter},
    {"Send", OperationKind::send},
    {"Recv", OperationKind::receive},
    {"Broadcast", OperationKind::broadcast},
    {"Reduce", OperationKind::reduce},
    {"SendRecv", OperationKind::send_receive},
    {"AlltoAll", OperationKind::all_to_all},
    {"AllToAll", OperationKind::all_to_all},
    {"AllGatherV", OperationKind::all_gather},
    {"Gather", OperationKind::gather},
    {"Scatter", OperationKind::scatter},
};
constexpr Word<DataType> data_types[] = {
    {"Bfloat16", DataType::bfloat16},
    {"Float32", DataType::float32},
    {"Float16", DataType::float16},
    {"Int64", DataType::int64},
    {"Int8", DataType::int8},
    {"Uint8", DataType::uint8},
    {"Int32", DataType::int32},
    {"Uint32", DataType::uint32},
    {"Uint64", DataType::uint64},
    {"Float64", DataType::float64},
    {"Float8e4m3", DataType::float8_e4m3},
    {"Float8e5m2", DataType::float8_e5m2},
};
constexpr Word<Algorithm> algorithms[] = {
    {"RING", Algorithm::ring},
    {"TREE", Algorithm::tree},
    {"NVLS", Algorithm::nvls},
    {"NVLS_TREE", Algorithm::nvls_tree},
    {"PAT", Algorithm::pat},
    {"COLLNET_DIRECT", Algorithm::collnet_direct},
    {"COLLNET_CHAIN", Algorithm::collnet_chain},
};
constexpr Word<Protocol> protocols[] = {
    {"SIMPLE", Protocol::simple},
    {"LL", Protocol::ll},
    {"LL128", Protocol::ll128},
};

constexpr OperationKind funcs_v1[] = {OperationKind::broadcast,  OperationKind::reduce,
                                      OperationKind::all_gather, OperationKind::reduce_scatter,
                                      OperationKind::all_reduce, OperationKind::send_receive,
                                      OperationKind::send,       OperationKind::receive};
constexpr DataType data_types_v1[] = {
    DataType::int8,   DataType::uint8,   DataType::int32,   DataType::uint32,  DataType::int64,
    DataType::uint64, DataType::float16, DataType::float32, DataType::float64, DataType::bfloat16};
constexpr Algorithm algorithms_v1[] = {Algorithm::tree,
                                       Algorithm::ring,
                                       Algorithm::collnet_direct,
                                       Algorithm::collnet_chain,
                                       Algorithm::nvls,
                                       Algorithm::nvls_tree,
                                       Algorithm::pat};
constexpr Protocol protocols_v1[] = {Protocol::ll, Protocol::ll128, Protocol::simple};

// Names of ten letters that mostly differ in the first: less than what a call of strcmp costs.
bool is_same(const char* left, const char* right) {
  while (*left != '\0' && *left == *right) ++left, ++right;
  return *left == *right;
}

const char* without_prefix(const char* name) {
  const char* rest = name;
  for (const char* prefix = "nccl"; *prefix != '\0'; ++prefix, ++rest) {
    if (*rest != *prefix) return name;
  }
  return rest;
}

template <class Value, std::size_t size>
Value find(const Word<Value> (&words)[size], const char* name, Value otherwise) {
  if (name == nullptr) return otherwise;
  for (const Word<Value>& word : words) {
    if (is_same(word.name, name)) return word.value;
  }
  return otherwise;
}

template <class Value, std::size_t size>
Value at(const Value (&values)[size], std::uint8_t number, Value otherwise) {
  return number < size ? values[number] : otherwise;
}

}  // namespace

OperationKind operation_kind_of(const char* func) {
  return find(funcs, func, OperationKind::other);
}
DataType data_type_of(const char* name) {
  return find(data_types, name == nullptr ? name : without_prefix(name), DataType::other);
}
Algorithm algorithm_of(const char* name) {
  // A symmetric kernel has its variant here.
  return find(algorithms, name, name == nullptr ? Algorithm::unknown : Algorithm::other);
}
Protocol protocol_of(const char* name) {
  const bool is_empty = name == nullptr || *name == '\0';
  return find(protocols, name, is_empty ? Protocol::unknown : Protocol::other);
}

OperationKind operation_kind_of(std::uint8_t func) {
  return at(funcs_v1, func, OperationKind::other);
}
DataType data_type_of(std::uint8_t number) { return at(data_types_v1, number, DataType::other); }
Algorithm algorithm_of(std::uint8_t number) {
  return at(algorithms_v1, number, Algorithm::unknown);
}
Protocol protocol_of(std::uint8_t number) { return at(protocols_v1, number, Protocol::unknown); }

}  // namespace faultline::trace::nccl
