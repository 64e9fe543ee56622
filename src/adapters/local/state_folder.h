// StateFolder: where the files of a local cluster lie, and how each is read and written. A file is
// replaced whole, so that a crash leaves the old or the new one.
//
//   cluster.json             the state (local_state.h); written by the controller that holds `lock`
//   alone lock                     held for as long as a controller runs job_counter the last job
//   number given out, under a lock of its own inbox/                   requests (local_request.h);
//   inbox/refused/ keeps those that were not taken, with NAME.why jobs/JOB.submit          the
//   request of a job, kept jobs/JOB.RESTART.launch  what the keeper starts      .run   which
//   processes it became jobs/JOB.RESTART.exit    how it ended                .out   its output
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/local/local_state.h"
#include "base/file_lock.h"
#include "base/result.h"

namespace faultline {

class StateFolder {
 public:
  explicit StateFolder(std::filesystem::path root) : root_(std::move(root)) {}

  /// Makes the folder, for this user alone. conflict if there is a cluster already.
  [[nodiscard]] Status create(const std::vector<LocalNode>& nodes) const;
  /// not_found or corrupt, with what to do.
  [[nodiscard]] Result<LocalState> load() const;
  [[nodiscard]] Status save(const std::string& text) const;
  /// The next job number; it is never given out again.
  [[nodiscard]] Result<std::uint64_t> next_job(std::uint64_t above) const;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path state_file() const { return root_ / "cluster.json"; }
  [[nodiscard]] std::filesystem::path lock_file() const { return root_ / "lock"; }
  [[nodiscard]] std::filesystem::path inbox() const { return root_ / "inbox"; }
  [[nodiscard]] std::filesystem::path refused() const { return root_ / "inbox" / "refused"; }
  [[nodiscard]] std::filesystem::path jobs() const { return root_ / "jobs"; }
  /// jobs/JOB.RESTART.SUFFIX
  [[nodiscard]] std::filesystem::path attempt_file(const std::string& job, std::uint32_t restart,
                                                   std::string_view suffix) const;
  [[nodiscard]] std::filesystem::path submit_file(const std::string& base_job) const;

 private:
  std::filesystem::path root_;
};

/// Reads a regular file of this user that is no link. not_found, or invalid_argument with what is
/// wrong with it.
Result<std::string> read_own_file(const std::filesystem::path& path, std::uint64_t bytes_max);
/// Replaces `path` by `content`, durably: file and folder are synced.
Status write_durably(const std::filesystem::path& path, std::string_view content);
/// Creates `path` with `content` at once; conflict if it exists.
Status create_once(const std::filesystem::path& path, std::string_view content);

}  // namespace faultline
