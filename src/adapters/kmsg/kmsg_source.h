// The kernel's log as the kernel keeps it: /dev/kmsg gives one record a read, each with a sequence
// number that starts anew at boot. A record is passed on as it is; a hole in the numbers is a gap.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/ports.h"

namespace faultline {

/// The device, so that tests can play one.
class KmsgDevice {
 public:
  virtual ~KmsgDevice() = default;
  /// errno, 0 if open.
  virtual int open() = 0;
  /// As read(2) on /dev/kmsg, non-blocking; an error is -errno.
  virtual ssize_t read(char* buffer, std::size_t bytes) = 0;
  virtual void seek_to_start() = 0;
  virtual void seek_to_end() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
};

std::unique_ptr<KmsgDevice> make_kmsg_device(std::string path = "/dev/kmsg");

class KmsgSource final : public LogSource {
 public:
  explicit KmsgSource(std::string boot_id, std::unique_ptr<KmsgDevice> device = make_kmsg_device());

  [[nodiscard]] std::string path() const override { return "/dev/kmsg"; }
  /// permission_denied if the device may not be read, unavailable if it is not there.
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override;
  [[nodiscard]] int wait_descriptor() const override { return device_->descriptor(); }
  [[nodiscard]] std::string cursor() const override;
  void resume(std::string_view cursor) override;

 private:
  static constexpr std::size_t record_bytes_max =
      8192;  // the kernel's own limit of one record (CONSOLE_EXT_LOG_MAX)
  using RecordBuffer = std::array<char, record_bytes_max>;

  Status open();
  void skip_ring();
  /// "" if there is none now.
  std::string_view next_record(RecordBuffer& buffer);
  void take_record(std::string_view record, std::vector<Chunk>& chunks);

  std::string boot_id_;
  std::unique_ptr<KmsgDevice> device_;
  bool opened_ = false;
  bool resume_other_boot_ = false;     // the whole ring is news
  std::optional<std::uint64_t> last_;  // sequence number of the last record taken or skipped
  bool overrun_ = false;
};

}  // namespace faultline
