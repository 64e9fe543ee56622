// Kernel messages of several lines, told apart by their words: what belongs to a message that was
// counted already.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "catalog/catalog.h"
#include "model/event.h"

namespace faultline {

/// Second and third line of an NVSwitch error: "SXid (PCI:..): 20034, Severity 1 ..." and "...,
/// Data {0x..}". They repeat the first line's code and make no event of their own.
bool is_sxid_continuation(std::string_view body);

/// Adds what a continuation says to the event of its first line: fields `severity_code` and `data`.
void fold_sxid_continuation(std::string_view body, Event& event);

/// While a machine boots its ports are set up, and one that never had a cable says that it is down.
/// It has never said that it is up.
inline constexpr Duration port_setup_max = std::chrono::minutes{5};

/// When the machine booted, and which of its ports have been up since then, as far as the lines of
/// its kernel have told. Memory: bounded.
class KernelBoot {
 public:
  /// Sees each line's event; true for one of a port that is down, so soon after the boot, and has
  /// not been up.
  bool is_port_setup(const Signature& signature, const Event& event);

 private:
  [[nodiscard]] bool is_soon(const Event& event) const;

  std::string host_;
  Instant at_;
  std::set<std::string> ports_up_;  // of all hosts of the log, each with its host's name before it
};

/// The driver's tables and remarks after a firmware time-out: "GPU4 RPC history", its rows, "Rate
/// limiting GSP RPC ...". They are full of numbers and function names and tell nothing that the Xid
/// line did not.
bool is_driver_remark(std::string_view body);

/// The bytes before "NVRM: " if nothing but blanks stands there, else 0. So dmesg and journalctl
/// write the further lines of one message ("NVRM: The NVIDIA GPU ...", "fallen off the bus").
std::size_t driver_continuation(std::string_view line);

}  // namespace faultline
