// The numbers that stand for words in a black box. They are only ever appended to: a number keeps
// its meaning for good, and a reader shows one that it does not know as a number.
#pragma once

#include <cstdint>

namespace faultline::ringfmt {

enum class RingState : std::uint32_t { setting_up, active, finished, disabled };
inline constexpr const char* state_words[] = {"setting_up", "active", "finished", "disabled"};

/// Why a writer switched itself off.
enum class DisabledReason : std::uint32_t { none, asked, foreign_header };
inline constexpr const char* disabled_words[] = {"none", "asked", "foreign_header"};

/// What the ticks of a black box count; anchors tie them to the clocks.
enum class TickKind : std::uint32_t { monotonic_ns, x86_tsc, arm_counter };
inline constexpr const char* tick_words[] = {"monotonic_ns", "x86_tsc", "arm_counter"};

enum class OperationKind : std::uint8_t {
  other,
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  barrier,
  scan,
  send,
  receive,
  send_receive,
  wait,
};
inline constexpr const char* operation_words[] = {
    "other",          "all_reduce", "broadcast", "reduce",       "all_gather",
    "reduce_scatter", "all_to_all", "gather",    "scatter",      "barrier",
    "scan",           "send",       "receive",   "send_receive", "wait"};

enum class DataType : std::uint8_t {
  other,
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  float8_e4m3,
  float8_e5m2,
};
inline constexpr const char* data_type_words[] = {
    "other",   "int8",    "uint8",   "int32",    "uint32",      "int64",      "uint64",
    "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};

enum class Algorithm : std::uint8_t {
  unknown,
  ring,
  tree,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  other
};
inline constexpr const char* algorithm_words[] = {"unknown",        "ring",          "tree",
                                                  "collnet_direct", "collnet_chain", "nvls",
                                                  "nvls_tree",      "pat",           "other"};

enum class Protocol : std::uint8_t { unknown, ll, ll128, simple, other };
inline constexpr const char* protocol_words[] = {"unknown", "ll", "ll128", "simple", "other"};

enum class Outcome : std::uint8_t {
  done,
  failed,
  abandoned,
  launched,  // handed to the GPU; the library does not say when it ends
};
inline constexpr const char* outcome_words[] = {"done", "failed", "abandoned", "launched"};

/// What a transfer to or from a peer waits for.
enum class WaitKind : std::uint32_t {
  send_gpu,         // the GPU fills the buffer that is to be sent
  send_credit,      // the peer says that it can take more
  send_network,     // the network takes what is sent
  receive_network,  // the peer's data to come
  receive_flush,    // what came to be seen by the GPU
  receive_gpu,      // the GPU to take what came
  count,
};
inline constexpr std::uint32_t wait_kinds = static_cast<std::uint32_t>(WaitKind::count);
inline constexpr const char* wait_words[] = {"send_gpu",        "send_credit",   "send_network",
                                             "receive_network", "receive_flush", "receive_gpu"};

/// What a writer did not record, and counted.
enum class Drop : std::uint32_t {
  communicators,  // opened while all entries were in use
  operations,     // started while the communicator's slots were all in flight
  peers,          // seen while their table was full
  channels,       // with a number beyond the limit
  late_calls,     // about an operation or communicator that is over
  bad_calls,      // with arguments that make no sense
  texts,          // cut at their limit
  disorder,       // a stop without its start, or a start that came twice
  count,
};
inline constexpr std::uint32_t drop_kinds = static_cast<std::uint32_t>(Drop::count);
inline constexpr const char* drop_words[] = {"communicators", "operations", "peers", "channels",
                                             "late_calls",    "bad_calls",  "texts", "disorder"};

// Flags of an operation.
inline constexpr std::uint8_t operation_captured = 1;  // into a CUDA graph
inline constexpr std::uint8_t operation_blocking = 2;  // the call itself waits

// Flags of a communicator.
inline constexpr std::uint32_t communicator_shared =
    1;  // several threads start operations on it at once

}  // namespace faultline::ringfmt
