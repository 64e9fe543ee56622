#include "adapters/kmsg/kmsg_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

/// More than any ring holds: a kernel that writes faster than we read must not hold up the start.
/// What is left is taken for news, of which the reader drops what is old by its time.
constexpr std::size_t skipped_records_max = 1'000'000;

class RealDevice final : public KmsgDevice {
 public:
  explicit RealDevice(std::string path) : path_(std::move(path)) {}
  ~RealDevice() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  RealDevice(const RealDevice&) = delete;
  RealDevice& operator=(const RealDevice&) = delete;

  int open() override {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return descriptor_ < 0 ? errno : 0;
  }
  ssize_t read(char* buffer, std::size_t bytes) override {
    const ssize_t got = ::read(descriptor_, buffer, bytes);
    return got < 0 ? -errno : got;
  }
  void seek_to_start() override { ::lseek(descriptor_, 0, SEEK_SET); }
  void seek_to_end() override { ::lseek(descriptor_, 0, SEEK_END); }
  [[nodiscard]] int descriptor() const override { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// The number in "6,1234,5678901,-;text".
std::optional<std::uint64_t> sequence_of(std::string_view record) {
  const std::size_t first = record.find(',');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = record.find(',', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return parse_number<std::uint64_t>(record.substr(first + 1, second - first - 1));
}

}  // namespace

std::unique_ptr<KmsgDevice> make_kmsg_device(std::string path) {
  return std::make_unique<RealDevice>(std::move(path));
}

KmsgSource::KmsgSource(std::string boot_id, std::unique_ptr<KmsgDevice> device)
    : boot_id_(std::move(boot_id)), device_(std::move(device)) {}

void KmsgSource::resume(std::string_view cursor) {
  const std::size_t colon = cursor.rfind(':');
  if (colon == std::string_view::npos) return;
  const auto sequence = parse_number<std::uint64_t>(cursor.substr(colon + 1));
  if (!sequence) return;
  if (cursor.substr(0, colon) == boot_id_) {
    last_ = sequence;
  } else {
    resume_other_boot_ = true;
  }
}

Status KmsgSource::open() {
  if (opened_) return ok_status();
  if (const int problem = device_->open(); problem != 0) {
    const bool refused = problem == EPERM || problem == EACCES;
    return Error{
        refused ? ErrorCode::permission_denied : ErrorCode::unavailable,
        fmt::format("/dev/kmsg: {}{}", std::strerror(problem),
                    refused
                        ? "; run the agent as root or with CAP_SYSLOG, or give --kernel-log journal"
                        : "")};
  }
  opened_ = true;
  device_->seek_to_start();
  // After a reboot everything in the ring is younger than what an earlier run saw. Without an
  // earlier run it is old news.
  if (!last_ && !resume_other_boot_) skip_ring();
  return ok_status();
}

/// Reads past what is there: where the ring ends, the kernel tells only by its last record, and a
/// run that is killed before there is another one must leave the next run a cursor.
void KmsgSource::skip_ring() {
  RecordBuffer buffer{};
  for (std::size_t i = 0; i < skipped_records_max; ++i) {
    const std::string_view record = next_record(buffer);
    if (record.empty()) break;
    if (const auto sequence = sequence_of(record)) last_ = sequence;
  }
  overrun_ = false;
}

std::string_view KmsgSource::next_record(RecordBuffer& buffer) {
  for (;;) {
    const ssize_t got = device_->read(buffer.data(), buffer.size());
    if (got == -EINTR) continue;
    if (got == -EPIPE) {
      // Records were overwritten before we read them; the next read gives the oldest there is.
      overrun_ = true;
      continue;
    }
    if (got == -EINVAL) {
      // A record that does not fit the buffer; the kernel does not go past it by itself.
      overrun_ = true;
      device_->seek_to_end();
      continue;
    }
    if (got <= 0) return {};
    return {buffer.data(), static_cast<std::size_t>(got)};
  }
}

Result<std::vector<Chunk>> KmsgSource::poll(std::size_t bytes_max) {
  FAULTLINE_TRY(open());
  std::vector<Chunk> chunks;
  RecordBuffer buffer{};
  for (std::size_t bytes = 0; bytes < bytes_max;) {
    const std::string_view record = next_record(buffer);
    if (record.empty()) break;
    bytes += record.size();
    take_record(record, chunks);
  }
  return chunks;
}

void KmsgSource::take_record(std::string_view record, std::vector<Chunk>& chunks) {
  const auto sequence = sequence_of(record);
  if (sequence && last_ && *sequence <= *last_) return;  // read by an earlier run
  Chunk chunk;
  const bool hole = sequence && last_ && *sequence > *last_ + 1;
  if (std::exchange(overrun_, false) || hole) chunk.gap = GapReason::overrun;
  if (sequence) last_ = sequence;
  chunk.offset = last_.value_or(0);
  chunk.incarnation = boot_id_;
  chunk.bytes = record;
  if (chunk.bytes.back() != '\n') chunk.bytes += '\n';
  chunks.push_back(std::move(chunk));
}

std::string KmsgSource::cursor() const {
  if (last_) return fmt::format("{}:{}", boot_id_, *last_);
  return {};
}

}  // namespace faultline
