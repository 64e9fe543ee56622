#include "trace/ring_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/identity.h"

namespace faultline::trace {
namespace {

constexpr char ring_suffix[] = ".ring";

struct FileName {
  std::uint32_t pid = 0;
  std::uint64_t start = 0;
  std::uint64_t pid_namespace = 0;
};

/// Takes the last "-NUMBER" off `text`.
bool take_number(char* text, std::uint64_t& number) {
  char* dash = ::strrchr(text, '-');
  if (dash == nullptr || dash[1] < '0' || dash[1] > '9') return false;
  char* end = nullptr;
  number = ::strtoull(dash + 1, &end, 10);
  if (*end != 0) return false;
  *dash = 0;
  return true;
}

bool parse_name(const char* name, FileName& file) {
  char text[256];
  const std::size_t length = ::strlen(name);
  const std::size_t suffix = sizeof ring_suffix - 1;
  if (length <= suffix || length >= sizeof text ||
      ::strcmp(name + length - suffix, ring_suffix) != 0)
    return false;
  ::memcpy(text, name, length - suffix);
  text[length - suffix] = 0;
  std::uint64_t number = 0;
  std::uint64_t pid = 0;
  if (!take_number(text, number) || !take_number(text, file.pid_namespace) ||
      !take_number(text, file.start) || !take_number(text, pid)) {
    return false;
  }
  file.pid = static_cast<std::uint32_t>(pid);
  return true;
}

/// Those of another pid namespace may live; only ours can be asked for.
bool is_stale(const FileName& file, const ringfmt::Header& identity) {
  return file.pid_namespace == identity.pid_namespace && process_start_of(file.pid) != file.start;
}

struct FolderCount {
  std::uint32_t files = 0;
  std::uint32_t stale = 0;
  char oldest[256] = {};
};

bool count_files(int folder, const ringfmt::Header& identity, FolderCount& count) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = again < 0 ? nullptr : ::fdopendir(again);
  if (listing == nullptr) {
    if (again >= 0) ::close(again);
    return false;
  }
  std::uint64_t oldest_start = ~std::uint64_t{0};
  while (const dirent* entry = ::readdir(listing)) {
    if (++count.files > 2 * ringfmt::folder_files_max) break;
    FileName file;
    if (!parse_name(entry->d_name, file) || !is_stale(file, identity)) continue;
    ++count.stale;
    if (file.start >= oldest_start || ::strlen(entry->d_name) >= sizeof count.oldest) continue;
    oldest_start = file.start;
    ::strcpy(count.oldest, entry->d_name);
  }
  ::closedir(listing);
  return true;
}

bool is_ours(int folder, bool chosen) {
  struct statx facts {};
  if (::statx(folder, "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &facts) != 0) return false;
  const bool others_write = (facts.stx_mode & 022) != 0;
  if (!chosen) return facts.stx_uid == ::geteuid() && !others_write;
  return (facts.stx_uid == ::geteuid() || facts.stx_uid == 0) &&
         (!others_write || (facts.stx_mode & S_ISVTX) != 0);
}

/// What may stand in a name; a dash divides it.
void plain_text(const char* text, char (&into)[48]) {
  std::size_t at = 0;
  for (; text[at] != 0 && at + 1 < sizeof into; ++at) {
    const char c = text[at];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    into[at] = plain ? c : '_';
  }
  into[at] = 0;
}

}  // namespace

int open_ring_folder(char (&path)[ring_path_bytes]) {
  const char* chosen = ::getenv("FAULTLINE_RING_DIR");
  const bool is_chosen = chosen != nullptr && chosen[0] != 0;
  const int length = is_chosen ? ::snprintf(path, sizeof path, "%s", chosen)  // tidy: allow print
                               : ::snprintf(path, sizeof path, "/dev/shm/faultline-%u",
                                            ::geteuid());  // tidy: allow print
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return -1;
  if (::mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0 || is_ours(folder, is_chosen)) return folder;
  ::close(folder);
  return -1;
}

bool make_room(int folder, const ringfmt::Header& identity) {
  FolderCount count;
  // One comes, so one goes; several may have come at once.
  for (std::uint32_t turn = 0; turn < ringfmt::files_per_process_max; ++turn) {
    count = FolderCount();
    if (!count_files(folder, identity, count)) return false;
    if (count.stale < ringfmt::stale_files_max || count.oldest[0] == 0) break;
    ::unlinkat(folder, count.oldest, 0);
  }
  return count.files < ringfmt::folder_files_max;
}

int create_ring_file(int folder, const ringfmt::Header& identity, char (&name)[ring_path_bytes]) {
  char job[48];
  plain_text(identity.job[0] == 0 ? "nojob" : identity.job, job);
  char rank[16] = "none";
  if (identity.rank >= 0) ::snprintf(rank, sizeof rank, "%d", identity.rank);  // tidy: allow print
  for (std::uint32_t number = 0; number < ringfmt::files_per_process_max; ++number) {
    ::snprintf(name, sizeof name, "%s-%s-%u-%llu-%llu-%u%s", job, rank,
               identity.pid,  // tidy: allow print
               static_cast<unsigned long long>(identity.process_start),
               static_cast<unsigned long long>(identity.pid_namespace), number, ring_suffix);
    const int file =
        ::openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace faultline::trace
