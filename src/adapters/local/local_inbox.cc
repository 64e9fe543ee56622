#include "adapters/local/local_inbox.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t names_read_max = 100'000;

/// Names of what lies in a folder, sorted; files still being written begin with a dot.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end;
       !error && it != end && names.size() < names_read_max; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!name.empty() && name.front() != '.') names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> LocalInbox::names() const {
  auto names = names_in(folder_.inbox());
  std::erase(names, "refused");
  return names;
}

void LocalInbox::remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove(folder_.inbox() / name, ignored);
}

void LocalInbox::refuse(const std::string& name, const std::string& why) const {
  std::error_code error;
  // The reason first: whoever waits for the request to go reads it next.
  const auto status =
      write_durably(folder_.refused() / (name + ".why"), printable(why, 512) + "\n");
  fs::rename(folder_.inbox() / name, folder_.refused() / name, error);
  // A name that cannot be moved (a folder onto a file) must not be read again for ever.
  if (error || !status) fs::remove_all(folder_.inbox() / name, error);
  forget_old_refusals();
}

std::optional<std::string> LocalInbox::refusal(const std::string& name) const {
  const auto text = read_own_file(folder_.refused() / (name + ".why"), 4096);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

bool LocalInbox::waits(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(folder_.inbox() / name, ignored));
}

void LocalInbox::forget_old_refusals() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::error_code error;
  for (const auto& name : names_in(folder_.refused())) {
    const auto path = folder_.refused() / name;
    all.emplace_back(fs::last_write_time(path, error), path);
  }
  if (all.size() <= 2 * refused_kept) return;  // each with its reason
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i + 2 * refused_kept < all.size(); ++i)
    fs::remove_all(all[i].second, error);
}

}  // namespace faultline
