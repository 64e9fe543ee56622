#include "adapters/files/input_finder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "adapters/files/file_source.h"
#include "adapters/files/natural_order.h"
#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes_max = 4096;  // PATH_MAX

Instant modified_of(const struct stat& status) {
  return Instant{std::chrono::seconds{status.st_mtim.tv_sec} +
                 std::chrono::nanoseconds{status.st_mtim.tv_nsec}};
}

/// What stands there instead of a file.
std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a device";
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

class Walk {
 public:
  Walk(const UnpackLimits& unpack, const FolderLimits& limits,
       const std::vector<std::string>& paths)
      : unpack_(unpack), limits_(limits) {
    for (const std::string& path : paths) {
      std::error_code missing;
      const fs::path real = fs::canonical(path, missing);
      if (!missing) named_.push_back(real.string());
    }
  }

  void add_named(const std::string& path);
  InputListing finish();

 private:
  void add_folder(const std::string& path, int depth);
  void add_entry(const std::string& path, int depth);
  /// `at`: where the file really is.
  void add_file(const std::string& path, const struct stat& status, Found found,
                const std::string& at);
  void add_link(const std::string& path);
  void note(const std::string& path, std::string_view what, std::string_view left_out = "all of it",
            bool may_matter = true);
  /// Named, but nothing that a run left behind.
  void pass_over(const std::string& path, std::string_view what,
                 std::string_view left_out = "all of it") {
    note(path, what, left_out, false);
  }
  bool seen_before(const struct stat& status) {
    return !seen_.emplace(status.st_dev, status.st_ino).second;
  }

  const UnpackLimits& unpack_;
  const FolderLimits& limits_;
  std::vector<std::string> named_;  // where the named paths really are
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<std::pair<std::string, std::unique_ptr<InputSource>>> found_;
  std::vector<InputWarning> warnings_;
  bool full_ = false;
};

void Walk::note(const std::string& path, std::string_view what, std::string_view left_out,
                bool may_matter) {
  warnings_.push_back(
      {printable(path, name_bytes_max), std::string(what), std::string(left_out), may_matter});
}

void Walk::add_named(const std::string& path) {
  struct stat status {};
  if (path == "-") {
    // Of a file that is redirected to it, the file's own name may be given too.
    const bool closed = ::fstat(0, &status) != 0;
    // Where it was closed, a library may have opened something of its own in its place.
    if (closed || (status.st_mode & S_IFMT) == 0) return note(path, "standard input is closed");
    if (!seen_before(status)) add_file(path, status, Found::standard_input, path);
    return;
  }
  if (::stat(path.c_str(), &status) != 0)
    return note(path, fmt::format("cannot be found: {}", std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) {
    std::string folder = path;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (!seen_before(status)) add_folder(folder, 0);
    return;
  }
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    return pass_over(path, kind_of(status.st_mode));
  if (!seen_before(status)) add_file(path, status, Found::named, path);
}

void Walk::add_folder(const std::string& path, int depth) {
  if (depth > limits_.depth_max)
    return note(path, fmt::format("lies more than {} folders deep", limits_.depth_max));
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
    if (names.size() > limits_.files_max) break;
  }
  if (failed)
    note(path, fmt::format("cannot be listed: {}", failed.message()),
         names.empty() ? "all of it" : "some of it");
  std::sort(names.begin(), names.end(), natural_less);
  const std::string before = path == "." ? "" : path == "/" ? path : path + "/";
  for (const std::string& name : names) {
    if (full_) return;
    add_entry(before + name, depth + 1);
  }
}

void Walk::add_entry(const std::string& path, int depth) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return note(path, fmt::format("cannot be found: {}", std::strerror(errno)));
  if (S_ISLNK(status.st_mode)) return add_link(path);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return pass_over(path, kind_of(status.st_mode));
  if (seen_before(status)) return;
  if (S_ISDIR(status.st_mode)) return add_folder(path, depth);
  add_file(path, status, Found::in_folder, path);
}

/// What lies in a folder that was named is read there, under its real name; another file is read
/// here (/var/log/containers holds nothing but links), and another folder is not.
void Walk::add_link(const std::string& path) {
  std::error_code failed;
  const fs::path target = fs::canonical(path, failed);
  if (failed == std::errc::too_many_symbolic_link_levels)
    return pass_over(path, "is a link in a loop");
  if (failed) return note(path, fmt::format("is a link to nothing: {}", failed.message()));
  const bool ours = std::any_of(named_.begin(), named_.end(), [&](const std::string& named) {
    return lies_in(target.string(), named);
  });
  struct stat status {};
  const bool is_file = ::lstat(target.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (!ours && is_file) {
    if (!seen_before(status)) add_file(path, status, Found::in_folder, target.string());
    return;
  }
  if (!ours) {
    return note(path, fmt::format("is a link to {}, outside of what was named",
                                  printable(target.string(), name_bytes_max)));
  }
  const fs::path from = fs::canonical(fs::path(path).parent_path() / ".", failed);
  if (!failed && lies_in(from.string(), target.string()))
    pass_over(path, "is a link to a folder above it", "nothing: that folder is read already");
}

void Walk::add_file(const std::string& path, const struct stat& status, Found found,
                    const std::string& at) {
  if (found_.size() >= limits_.files_max) {
    if (!std::exchange(full_, true))
      note(path, fmt::format("there are more than {} files", limits_.files_max),
           "this one and all that follow");
    return;
  }
  InputFile file{printable(path, name_bytes_max), {}, 0, false};
  if (S_ISREG(status.st_mode)) {
    file.modified = modified_of(status);
    file.bytes = static_cast<std::uint64_t>(status.st_size);
  }
  found_.emplace_back(path, std::make_unique<FileSource>(at, found, std::move(file), unpack_));
}

InputListing Walk::finish() {
  std::stable_sort(found_.begin(), found_.end(), [](const auto& left, const auto& right) {
    return natural_less(left.first, right.first);
  });
  InputListing listing{{}, std::move(warnings_)};
  for (auto& [path, source] : found_) listing.sources.push_back(std::move(source));
  return listing;
}

class PathFinder final : public InputFinder {
 public:
  PathFinder(const UnpackLimits& unpack, const FolderLimits& folders)
      : unpack_(unpack), folders_(folders) {}

  InputListing find(const std::vector<std::string>& paths) override {
    Walk walk(unpack_, folders_, paths);
    for (const std::string& path : paths) walk.add_named(path);
    return walk.finish();
  }

 private:
  UnpackLimits unpack_;
  FolderLimits folders_;
};

}  // namespace

std::unique_ptr<InputFinder> make_input_finder(const UnpackLimits& unpack,
                                               const FolderLimits& folders) {
  return std::make_unique<PathFinder>(unpack, folders);
}

}  // namespace faultline
