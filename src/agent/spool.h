// Events that the controller has not yet taken, on disk, so that neither a dead network nor a dead
// agent loses them.
//
// A folder of append-only segment files, each named by the sequence number of its first record. A
// record is its length, a CRC of its bytes, and the bytes. A crash can only tear the last record of
// the last segment, which is cut off and counted at the next start. How far the controller has
// acknowledged is kept in a small file beside them; if that is lost, events are sent twice under
// the same ids, never not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"

namespace faultline {

class Spool {
 public:
  struct Limits {
    std::uint64_t bytes_max = 64ULL * 1024 * 1024;
    std::uint64_t segment_bytes_max = 4ULL * 1024 * 1024;
    std::size_t memory_bytes_max = 1024 * 1024;  // while the disk refuses
    bool sync = true;                            // survive the machine's death too, not only ours
  };
  struct Batch {
    std::vector<std::string> records;
    std::uint64_t end = 0;        // sequence number after the last one
    std::size_t from_memory = 0;  // the last so many came from memory
  };

  /// Opens or makes the folder. unavailable if it cannot be written.
  static Result<std::unique_ptr<Spool>> open(std::filesystem::path folder, Limits limits,
                                             Counters& counters);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Keeps the records. If the disk refuses they are kept in memory, within its limit; the error
  /// says so, once a time that it begins.
  Status append(const std::vector<std::string>& records);
  /// The oldest records that are not acknowledged, at most so many; at least one if there is one.
  Batch read(std::size_t records_max, std::size_t bytes_max);
  void acknowledge(const Batch& batch);

  [[nodiscard]] std::uint64_t pending() const;
  /// False while something waits in memory for the disk.
  [[nodiscard]] bool durable() const { return memory_.empty(); }
  /// Records that were given up for want of room since the last call.
  std::uint64_t take_dropped();

 private:
  struct Segment {
    std::uint64_t first = 0;  // sequence number of the first record
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };

  Spool(std::filesystem::path folder, Limits limits, Counters& counters);
  Status load();
  Status load_segment(std::uint64_t first);
  void seek_to_acknowledged();
  [[nodiscard]] std::filesystem::path path_of(std::uint64_t first) const;
  [[nodiscard]] std::uint64_t segment_read_max() const;
  Status write_memory();
  Status write_piece();
  Status open_tail();
  void forget_from_memory(std::size_t count);
  void drop_from_memory();
  void drop_oldest();
  void forget_read_segments();
  void save_acknowledged() const;

  std::filesystem::path folder_;
  Limits limits_;
  Counters& counters_;
  std::deque<Segment> segments_;
  int tail_ = -1;                   // descriptor of segments_.back(), for appending
  std::uint64_t next_ = 1;          // sequence number of the next record
  std::uint64_t acknowledged_ = 1;  // sequence number of the oldest record still wanted
  std::uint64_t head_offset_ = 0;   // where that record lies in segments_.front()
  std::deque<std::string> memory_;  // younger than the disk: on its way there
  std::size_t memory_bytes_ = 0;
  bool disk_refuses_ = false;
  std::uint64_t dropped_ = 0;
};

/// CRC-32 (IEEE 802.3), as zlib's crc32().
std::uint32_t crc32_of(std::string_view bytes);

}  // namespace faultline
