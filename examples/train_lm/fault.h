// Faults on demand, for tests and demonstrations. Each line of the fault file names a host and what
// breaks there; the failing rank then does and prints what a PyTorch program would on such a GPU.
//
//   n3 ecc                an uncorrectable memory error on n3, from the next step on
//   n3 slow ms=200        n3 computes 200 ms longer in each step
//   * assert step=25      a bug in the program: every rank fails, at the first step from 25 on
//
// Whoever watches the job must not read this file: it knows the answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace train_lm {

enum class FaultKind {
  kEcc,
  kLaunch,
  kOutOfMemory,
  kAssert,
  kException,
  kHang,
  kSigkill,
  kNan,
  kBitflip,
  kSlow
};

struct Fault {
  FaultKind kind{};
  int slow_ms = 0;
};

/// The fault that `text` holds for this host at this step, if any; the first that fits. A line that
/// cannot be understood throws std::runtime_error: a typing error must not look like a healthy run.
std::optional<Fault> parse_fault(std::string_view text, std::string_view host, std::uint64_t step);

/// The same for a file, which need not exist.
std::optional<Fault> read_fault(const std::filesystem::path& file, std::string_view host,
                                std::uint64_t step);

/// Prints what the program of such a node prints, and ends the process without a word to its peers.
[[noreturn]] void die_of(FaultKind kind);

}  // namespace train_lm
