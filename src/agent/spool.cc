#include "agent/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t frame_bytes = 8;
constexpr std::uint32_t record_bytes_max = 1024 * 1024;
constexpr std::string_view suffix = ".seg";

std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t get_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

/// The record at the start of `bytes`, whole and right; nullopt if it is torn or damaged.
std::optional<std::string_view> record_at(std::string_view bytes) {
  if (bytes.size() < frame_bytes) return std::nullopt;
  const std::uint32_t length = get_u32(bytes);
  if (length > record_bytes_max || bytes.size() - frame_bytes < length) return std::nullopt;
  const std::string_view record = bytes.substr(frame_bytes, length);
  if (crc32_of(record) != get_u32(bytes.substr(4))) return std::nullopt;
  return record;
}

Error disk_error(const std::filesystem::path& path, std::string_view what) {
  return Error{ErrorCode::unavailable,
               fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno))};
}

bool write_fully(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::uint32_t crc32_of(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t value = 0xFFFFFFFFU;
  for (const char c : bytes)
    value = table[(value ^ static_cast<unsigned char>(c)) & 0xFF] ^ (value >> 8);
  return ~value;
}

Result<std::unique_ptr<Spool>> Spool::open(std::filesystem::path folder, Limits limits,
                                           Counters& counters) {
  std::unique_ptr<Spool> spool(new Spool(std::move(folder), limits, counters));
  FAULTLINE_TRY(spool->load());
  return spool;
}

Spool::Spool(std::filesystem::path folder, Limits limits, Counters& counters)
    : folder_(std::move(folder)), limits_(limits), counters_(counters) {}

Spool::~Spool() {
  if (tail_ >= 0) ::close(tail_);
}

std::filesystem::path Spool::path_of(std::uint64_t first) const {
  return folder_ / fmt::format("{:016x}{}", first, suffix);
}

Status Spool::load() {
  std::error_code problem;
  std::filesystem::create_directories(folder_, problem);
  if (problem)
    return Error{ErrorCode::unavailable,
                 fmt::format("{}: {}", folder_.string(), problem.message())};
  if (const auto saved = read_small_file(folder_ / "acknowledged", 64); saved.ok()) {
    acknowledged_ =
        std::max<std::uint64_t>(1, parse_number<std::uint64_t>(trim(saved.value())).value_or(1));
  }
  std::vector<std::uint64_t> firsts;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, problem)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t first = 0;
    const char* end = name.data() + 16;
    if (name.size() != 16 + suffix.size() || !name.ends_with(suffix)) continue;
    if (const auto [at, error] = std::from_chars(name.data(), end, first, 16);
        error != std::errc{} || at != end)
      continue;
    firsts.push_back(first);
  }
  std::sort(firsts.begin(), firsts.end());
  for (const std::uint64_t first : firsts) FAULTLINE_TRY(load_segment(first));
  if (!firsts.empty()) next_ = firsts.back() + 1;  // also after one that cannot be read
  if (!segments_.empty()) {
    const std::uint64_t end = segments_.back().first + segments_.back().records;
    next_ = std::max(next_, end);
    // More than there ever was: the number is damaged, and must not cost what was not sent.
    if (acknowledged_ > end) acknowledged_ = segments_.front().first;
  }
  next_ = std::max(next_, acknowledged_);
  seek_to_acknowledged();
  return ok_status();
}

/// Counts a segment's records; what follows the last right one is cut off. One that the disk does
/// not give is left where it is: the agent must start all the same.
Status Spool::load_segment(std::uint64_t first) {
  const auto path = path_of(first);
  const auto content = read_file_part(path, 0, segment_read_max());
  if (!content.ok()) {
    counters_.add("agent_spool_unreadable_total");
    spdlog::error("spool: {}; its events are not sent", content.error().message);
    return ok_status();
  }
  Segment segment{first, 0, 0};
  const std::string_view bytes = content.value();
  while (const auto record = record_at(bytes.substr(segment.bytes))) {
    segment.bytes += frame_bytes + record->size();
    ++segment.records;
  }
  if (segment.bytes < bytes.size()) {
    counters_.add("agent_spool_torn_total");
    counters_.add("agent_spool_torn_bytes_total", bytes.size() - segment.bytes);
    spdlog::warn("spool: {}: {} bytes that are no whole record are cut off", path.string(),
                 bytes.size() - segment.bytes);
    if (::truncate(path.c_str(), static_cast<off_t>(segment.bytes)) != 0)
      return disk_error(path, "truncate");
  }
  if (segment.records > 0) {
    segments_.push_back(segment);
  } else {
    ::unlink(path.c_str());
  }
  return ok_status();
}

/// A segment has one record at most beyond its limit.
std::uint64_t Spool::segment_read_max() const {
  return limits_.segment_bytes_max + frame_bytes + record_bytes_max;
}

void Spool::seek_to_acknowledged() {
  forget_read_segments();
  head_offset_ = 0;
  if (segments_.empty()) return;
  const Segment& head = segments_.front();
  acknowledged_ = std::max(acknowledged_, head.first);
  const auto content = read_small_file(path_of(head.first), head.bytes);
  if (!content.ok()) return;
  for (std::uint64_t at = head.first; at < acknowledged_; ++at) {
    const auto record = record_at(std::string_view(content.value()).substr(head_offset_));
    if (!record) return;
    head_offset_ += frame_bytes + record->size();
  }
}

Status Spool::append(const std::vector<std::string>& records) {
  if (records.empty()) return ok_status();
  // What waits in memory is younger than the disk and older than this: it gets to the disk first.
  for (const std::string& record : records) {
    memory_.push_back(record);
    memory_bytes_ += record.size();
  }
  const Status written = write_memory();
  if (written.ok()) {
    disk_refuses_ = false;
    drop_oldest();
    return written;
  }
  drop_from_memory();
  counters_.add("agent_spool_disk_errors_total");
  return std::exchange(disk_refuses_, true) ? ok_status() : written;
}

Status Spool::open_tail() {
  if (tail_ >= 0 && segments_.back().bytes < limits_.segment_bytes_max) return ok_status();
  if (tail_ >= 0) ::close(std::exchange(tail_, -1));
  const bool reuse = !segments_.empty() && segments_.back().bytes < limits_.segment_bytes_max &&
                     segments_.back().first + segments_.back().records == next_;
  const std::uint64_t first = reuse ? segments_.back().first : next_;
  tail_ =
      ::open(path_of(first).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (tail_ < 0) return disk_error(path_of(first), "open");
  if (!reuse) segments_.push_back({next_, 0, 0});
  return ok_status();
}

Status Spool::write_memory() {
  while (!memory_.empty()) {
    FAULTLINE_TRY(open_tail());
    FAULTLINE_TRY(write_piece());
  }
  return ok_status();
}

/// As much of what is in memory as the present segment has room for, at least one record.
Status Spool::write_piece() {
  Segment& segment = segments_.back();
  std::string bytes;
  std::size_t count = 0;
  for (; count < memory_.size(); ++count) {
    const std::string& record = memory_[count];
    if (count > 0 && segment.bytes + bytes.size() >= limits_.segment_bytes_max) break;
    put_u32(bytes, static_cast<std::uint32_t>(record.size()));
    put_u32(bytes, crc32_of(record));
    bytes += record;
  }
  if (!write_fully(tail_, bytes) || (limits_.sync && ::fdatasync(tail_) != 0)) {
    const Error error = disk_error(path_of(segment.first), "write");
    // Half a batch must not stay: it would be read as records, and then come again from memory.
    if (::ftruncate(tail_, static_cast<off_t>(segment.bytes)) != 0)
      counters_.add("agent_spool_disk_errors_total");
    ::close(std::exchange(tail_, -1));
    if (segment.records == 0) segments_.pop_back();
    return error;
  }
  segment.bytes += bytes.size();
  segment.records += count;
  next_ += count;
  forget_from_memory(count);
  return ok_status();
}

void Spool::forget_from_memory(std::size_t count) {
  for (; count > 0 && !memory_.empty(); --count) {
    memory_bytes_ -= memory_.front().size();
    memory_.pop_front();
  }
}

void Spool::drop_from_memory() {
  while (memory_bytes_ > limits_.memory_bytes_max && !memory_.empty()) {
    forget_from_memory(1);
    ++dropped_;
  }
}

void Spool::drop_oldest() {
  const auto total = [&] {
    std::uint64_t bytes = 0;
    for (const Segment& segment : segments_) bytes += segment.bytes;
    return bytes;
  };
  while (segments_.size() > 1 && total() > limits_.bytes_max) {
    const Segment head = segments_.front();
    dropped_ += head.first + head.records - std::max(acknowledged_, head.first);
    ::unlink(path_of(head.first).c_str());
    segments_.pop_front();
    acknowledged_ = segments_.front().first;
    head_offset_ = 0;
    save_acknowledged();
  }
}

Spool::Batch Spool::read(std::size_t records_max, std::size_t bytes_max) {
  Batch batch;
  batch.end = acknowledged_;
  std::size_t bytes = 0;
  const auto take = [&](std::string_view record) {
    if (!batch.records.empty() &&
        (batch.records.size() >= records_max || bytes + record.size() > bytes_max))
      return false;
    bytes += record.size();
    batch.records.emplace_back(record);
    return true;
  };
  if (!segments_.empty()) {  // one segment at a time; the next batch takes the next
    const Segment& head = segments_.front();
    batch.end = std::max(acknowledged_, head.first);
    const auto content = read_file_part(
        path_of(head.first), head_offset_,
        std::min<std::uint64_t>(head.bytes - head_offset_, bytes_max + record_bytes_max));
    std::string_view rest = content.ok() ? std::string_view(content.value()) : std::string_view();
    bool room = true;
    while (room) {
      const auto record = record_at(rest);
      if (!record) break;
      room = take(*record);
      if (room) rest.remove_prefix(frame_bytes + record->size());
      if (room) ++batch.end;
    }
    if (!batch.records.empty()) return batch;
    // The disk lost what it had: give the segment up rather than stand still before it for ever.
    counters_.add("agent_spool_unreadable_total");
    dropped_ += head.first + head.records - acknowledged_;
    batch.end = head.first + head.records;
    acknowledge(batch);
    return read(records_max, bytes_max);
  }
  for (const std::string& record : memory_) {
    if (!take(record)) break;
  }
  batch.from_memory = batch.records.size();
  return batch;
}

void Spool::acknowledge(const Batch& batch) {
  forget_from_memory(batch.from_memory);
  if (batch.from_memory > 0) return;
  for (const std::string& record : batch.records) head_offset_ += frame_bytes + record.size();
  acknowledged_ = std::max(acknowledged_, batch.end);
  save_acknowledged();
  forget_read_segments();
}

void Spool::forget_read_segments() {
  while (!segments_.empty() &&
         segments_.front().first + segments_.front().records <= acknowledged_) {
    if (segments_.size() == 1 && tail_ >= 0) ::close(std::exchange(tail_, -1));
    ::unlink(path_of(segments_.front().first).c_str());
    segments_.pop_front();
    head_offset_ = 0;
  }
}

void Spool::save_acknowledged() const {
  // Not synced: the worst that an old number does is that events are sent again.
  if (!write_small_file(folder_ / "acknowledged", std::to_string(acknowledged_), false).ok()) {
    counters_.add("agent_spool_disk_errors_total");
  }
}

std::uint64_t Spool::pending() const {
  std::uint64_t count = memory_.size();
  for (const Segment& segment : segments_) {
    count += segment.first + segment.records -
             std::clamp(acknowledged_, segment.first, segment.first + segment.records);
  }
  return count;
}

std::uint64_t Spool::take_dropped() { return std::exchange(dropped_, 0); }

}  // namespace faultline
