// What a kernel log said of its GPUs. The driver names a GPU's UUID and board serial once, before
// its first Xid, and some of its messages do not say which GPU they mean because the line before
// did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace faultline {

class GpuMemory {
 public:
  static constexpr std::size_t gpus_max = 64;         // per node; far above what a machine holds
  static constexpr std::uint64_t near_lines_max = 8;  // other processors print in between

  struct Card {
    std::string uuid;
    std::string serial;
  };

  /// Line number `line` is about the GPU at `address`.
  void name(std::string_view address, std::uint64_t line);
  void set_uuid(std::string_view address, std::string_view uuid);
  void set_serial(std::string_view address, std::string_view serial);

  /// The address that a line just before `line` was about, "" if none was.
  [[nodiscard]] std::string near(std::uint64_t line) const;
  /// nullptr if nothing is known of it.
  [[nodiscard]] const Card* card(std::string_view address) const;

 private:
  Card* card_to_fill(std::string_view address);

  std::map<std::string, Card, std::less<>> cards_;  // by canonical address
  std::string named_;
  std::uint64_t named_line_ = 0;
};

}  // namespace faultline
