// Follows one log file as it grows, through everything that happens to log files: renamed and made
// anew, copied and truncated, deleted, replaced. What was in the file before the agent came is old
// news and is not read, unless a cursor proves that an earlier run of the agent had got exactly so
// far in this very file, also if it has been rotated to another name since.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/ports.h"
#include "base/clock.h"

namespace faultline {

struct FollowOptions {
  /// Without a cursor: from here on, for logs born under the agent; else the end.
  std::optional<std::uint64_t> start_at = {};
  bool follow_links = true;                    // false for logs that a job names
  std::optional<uid_t> owner = {};             // refuse files of anybody else
  Duration linger = std::chrono::seconds{30};  // how long a file that lost its name is still read
};

class FileFollower final : public LogSource {
 public:
  FileFollower(std::string path, FollowOptions options, const Clock& clock);
  ~FileFollower() override;
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  [[nodiscard]] std::string path() const override { return path_; }
  /// Errors: not_found while there is no such file; permission_denied or invalid_argument if it
  /// may not or cannot be followed (checked again at each call: it may be replaced); unavailable
  /// while it cannot be read. None of them loses the place.
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override;
  [[nodiscard]] std::string cursor() const override;
  void resume(std::string_view cursor) override { resume_ = cursor; }

 private:
  struct Cursor;
  /// One file that has had the name; at most two are open: the present one and the one before.
  struct Incarnation {
    int descriptor = -1;
    dev_t device = 0;
    ino_t inode = 0;
    int truncations = 0;
    std::uint64_t offset = 0;      // of the next byte to read
    std::uint64_t line_start = 0;  // after the last newline before `offset`
    std::string head;              // the first bytes of the file, to know it again
    std::string tail;              // the last bytes read, to notice that they changed under us
    std::string line_tail;         // the last bytes before `line_start`
    std::optional<GapReason> gap;  // said with the next chunk
    std::int64_t modified_ns = 0;  // when it was last read
    bool unread = false;           // the last attempt to read it failed
    Duration last_growth{0};

    [[nodiscard]] bool is(dev_t a_device, ino_t an_inode) const {
      return device == a_device && inode == an_inode;
    }
    /// Closes the file and keeps the place in it.
    void let_go();
    void close();
  };

  Result<Incarnation> open(const std::string& path) const;
  Status place_first(Incarnation& file);
  static Status place_at(Incarnation& file, std::uint64_t offset);
  bool find_rotated(const Cursor& cursor);
  [[nodiscard]] Result<struct stat> look_up() const;
  Status look_for_successor();
  Status take(Incarnation& opened);
  Status read_some(Incarnation& file, std::size_t bytes_max, std::vector<Chunk>& chunks);
  static Status restart_if_rewritten(Incarnation& file, std::uint64_t size);
  void advance(Incarnation& file, std::string_view bytes) const;
  [[nodiscard]] bool idle(const Incarnation& file) const;

  std::string path_;
  FollowOptions options_;
  const Clock& clock_;
  std::string resume_;
  bool born_ = false;  // the name was seen to be missing: whatever appears later was born under us
  Incarnation now_;
  Incarnation before_;
};

}  // namespace faultline
