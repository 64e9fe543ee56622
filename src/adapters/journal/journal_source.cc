#include "adapters/journal/journal_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "adapters/journal/journal_library.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t message_bytes_max = 8192;

Error journal_error(const std::string& path, std::string_view what, int result) {
  return Error{ErrorCode::unavailable,
               fmt::format("{}: {}: {}", path, what, std::strerror(-result))};
}

}  // namespace

JournalSource::~JournalSource() { close(); }

void JournalSource::close() {
  if (journal_ != nullptr) journal_library().close(std::exchange(journal_, nullptr));
  descriptor_ = -1;
}

Status JournalSource::open() {
  if (journal_ != nullptr) return ok_status();
  if (!journal_library().loaded()) {
    return Error{ErrorCode::unavailable,
                 path() + ": libsystemd.so.0 is not installed; give --kernel-log kmsg instead"};
  }
  sd_journal* journal = nullptr;
  const int opened = folder_.empty()
                         ? journal_library().open(&journal, SD_JOURNAL_LOCAL_ONLY)
                         : journal_library().open_directory(&journal, folder_.c_str(), 0);
  if (opened < 0)
    return journal_error(path(), "cannot open; give --kernel-log kmsg instead", opened);
  journal_ = journal;
  const Status prepared = prepare();
  // Half prepared it would give every line that it has, of any program.
  if (!prepared.ok()) close();
  return prepared;
}

Status JournalSource::prepare() {
  FAULTLINE_TRY(readable());
  journal_library().set_data_threshold(journal_, message_bytes_max);
  if (const int matched = journal_library().add_match(journal_, "_TRANSPORT=kernel", 0);
      matched < 0) {
    return journal_error(path(), "match", matched);
  }
  descriptor_ = journal_library().get_fd(journal_);
  return place();
}

/// Files that this user may not read are passed over by libsystemd without a word. Of a folder it
/// does not tell how many it has.
Status JournalSource::readable() const {
  if (!folder_.empty() || journal_library().has_runtime_files(journal_) > 0 ||
      journal_library().has_persistent_files(journal_) > 0)
    return ok_status();
  return Error{ErrorCode::permission_denied,
               path() +
                   ": no file of it can be read; run the agent as root or in the group "
                   "systemd-journal, or give --kernel-log kmsg"};
}

/// After the cursor's entry, or at the end if there is no cursor.
Status JournalSource::place() {
  if (!cursor_.empty() && journal_library().seek_cursor(journal_, cursor_.c_str()) >= 0) {
    const int moved = journal_library().next(journal_);
    if (moved > 0 && journal_library().test_cursor(journal_, cursor_.c_str()) <= 0) {
      lost_place_ = at_entry_ = true;
    }
    return ok_status();
  }
  if (const int sought = journal_library().seek_tail(journal_); sought < 0)
    return journal_error(path(), "seek", sought);
  // Stands on the last entry, so that the next one is the first new one.
  if (journal_library().previous(journal_) > 0) {
    char* cursor = nullptr;
    if (journal_library().get_cursor(journal_, &cursor) >= 0) cursor_ = cursor;
    std::free(cursor);
  }
  return ok_status();
}

std::string JournalSource::field(const char* name) const {
  const void* data = nullptr;
  std::size_t size = 0;
  if (journal_library().get_data(journal_, name, &data, &size) < 0) return {};
  std::string_view text(static_cast<const char*>(data), size);
  text.remove_prefix(std::min(text.size(), std::strlen(name) + 1));
  return std::string(text);
}

void JournalSource::take_entry(std::vector<Chunk>& chunks, std::size_t& bytes) {
  std::uint64_t usec = 0;
  if (journal_library().get_realtime_usec(journal_, &usec) < 0) return;
  const std::string host = field("_HOSTNAME");
  Chunk chunk;
  if (std::exchange(lost_place_, false)) chunk.gap = GapReason::rotated;
  chunk.offset = usec;
  chunk.incarnation = field("_BOOT_ID");
  // A message of several lines would give lines without time; each gets its own head.
  const std::string message = field("MESSAGE");
  for (const std::string_view line : split(message, '\n')) {
    chunk.bytes +=
        fmt::format("{} {} kernel: {}\n", to_text(Instant{std::chrono::microseconds{usec}}),
                    host.empty() ? "localhost" : host, line);
  }
  char* cursor = nullptr;
  if (journal_library().get_cursor(journal_, &cursor) >= 0) cursor_ = cursor;
  std::free(cursor);
  bytes += chunk.bytes.size();
  chunks.push_back(std::move(chunk));
}

Result<std::vector<Chunk>> JournalSource::poll(std::size_t bytes_max) {
  FAULTLINE_TRY(open());
  journal_library().process(journal_);  // empties the descriptor and notices new files
  std::vector<Chunk> chunks;
  std::size_t bytes = 0;
  while (bytes < bytes_max) {
    const int moved = std::exchange(at_entry_, false) ? 1 : journal_library().next(journal_);
    if (moved < 0) return journal_error(path(), "read", moved);
    if (moved == 0) break;
    take_entry(chunks, bytes);
  }
  return chunks;
}

}  // namespace faultline
