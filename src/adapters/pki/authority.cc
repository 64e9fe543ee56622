#include "adapters/pki/authority.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
// The clocks of a cluster differ: a certificate that is good from this very second on would be
// refused next door.
constexpr Duration skew_allowed = std::chrono::minutes{5};

constexpr ::mode_t mode_secret = 0600;
constexpr ::mode_t mode_public = 0644;
constexpr ::mode_t mode_folder = 0700;

Error errno_error(const std::string& doing) {
  const int number = errno;
  const auto code = number == ENOENT   ? ErrorCode::not_found
                    : number == EEXIST ? ErrorCode::conflict
                    : number == EACCES ? ErrorCode::permission_denied
                                       : ErrorCode::unavailable;
  return {code, doing + ": " + std::strerror(number)};
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Result<std::string> read_file(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_error("reading " + path);
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return errno_error("reading " + path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > file_bytes_max)
      return Error{ErrorCode::exhausted, path + " is larger than 1 MiB"};
  }
}

/// Whole or not at all: written beside the target, then renamed. The mode is set before a byte is
/// written.
Status write_file(const std::string& path, std::string_view text, ::mode_t mode) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const File file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (file.get() < 0) return errno_error("writing " + fresh);
  while (!text.empty()) {
    const auto put = ::write(file.get(), text.data(), text.size());
    if (put < 0) return errno_error("writing " + fresh);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0)
    return errno_error("writing " + fresh);
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return errno_error("renaming " + fresh);
  return ok_status();
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Status refuse_overwriting(const IssuedFiles& files, bool force) {
  for (const auto& path : {files.certificate, files.key}) {
    if (!force && exists(path)) {
      return Error{ErrorCode::conflict, path + " is there already; --force replaces it"};
    }
  }
  return ok_status();
}

Status write_pair(const IssuedFiles& files, const KeyPair& pair) {
  // The key first: a certificate without its key would look issued and be of no use.
  FAULTLINE_TRY(write_file(files.key, pair.key, mode_secret));
  return write_file(files.certificate, pair.certificate, mode_public);
}

IssuedFiles files_of(const std::string& folder, const std::string& name) {
  return {folder + "/ca.crt", folder + "/" + name + ".crt", folder + "/" + name + ".key"};
}

Status check_days(int days) {
  if (days >= 1 && days <= days_max) return ok_status();
  return Error{ErrorCode::invalid_argument, "--days is 1 to " + std::to_string(days_max)};
}

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

Status check_request(const IssueRequest& request) {
  const auto bad = [](const std::string& what, std::string_view name) {
    return Error{ErrorCode::invalid_argument, what + " '" + printable(name, 80) + "'"};
  };
  FAULTLINE_TRY(check_days(request.days));
  if (!valid_node_name(request.name) || request.name.size() > certificate_name_bytes_max) {
    return bad("a name is letters, digits, '-', '_' and '.', at most 64 bytes, not", request.name);
  }
  if (request.name == "ca") return bad("the authority's own files have the name", request.name);
  if (request.dns_names.size() + request.addresses.size() > alternative_names_max) {
    return Error{ErrorCode::invalid_argument,
                 "more than " + std::to_string(alternative_names_max) + " further names"};
  }
  for (const auto& name : request.dns_names) {
    if (!valid_node_name(name)) return bad("not a host name:", name);
  }
  for (const auto& address : request.addresses) {
    if (!is_address(address)) return bad("not an address:", address);
  }
  return ok_status();
}

}  // namespace

Result<IssuedFiles> init_authority(const std::string& folder, int days, bool force,
                                   const Clock& clock) {
  FAULTLINE_TRY(check_days(days));
  if (::mkdir(folder.c_str(), mode_folder) != 0 && errno != EEXIST)
    return errno_error("making " + folder);
  const IssuedFiles files = files_of(folder, "ca");
  FAULTLINE_TRY(refuse_overwriting(files, force));
  const Instant now = clock.now();
  // The time in the name tells two authorities apart where a message shows the issuer.
  const auto pair = make_authority("faultline authority " + to_text(now).substr(0, 19),
                                   now - skew_allowed, now + std::chrono::days{days});
  if (!pair) return pair.error();
  FAULTLINE_TRY(write_pair(files, *pair));
  return files;
}

Result<IssuedFiles> issue(const std::string& folder, const IssueRequest& request,
                          const Clock& clock) {
  FAULTLINE_TRY(check_request(request));
  const IssuedFiles files = files_of(folder, request.name);
  FAULTLINE_TRY(refuse_overwriting(files, request.force));
  auto certificate = read_file(files.authority);
  auto key = read_file(folder + "/ca.key");
  for (const auto* file : {&certificate, &key}) {
    if (file->ok()) continue;
    const bool missing = file->error().code == ErrorCode::not_found;
    return file->error().with_context(
        missing ? "no authority here, make one with `faultline pki init --dir " + folder + "`"
                : "the authority");
  }
  const Instant now = clock.now();
  const auto pair = issue_certificate(
      {*certificate, *key}, {request.name, request.role, request.dns_names, request.addresses,
                             now - skew_allowed, now + std::chrono::days{request.days}});
  if (!pair) return pair.error();
  FAULTLINE_TRY(write_pair(files, *pair));
  return files;
}

Result<CertificateInfo> show_certificate(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return text.error();
  auto info = describe_certificate(*text);
  if (!info) return info.error().with_context(file);
  return info;
}

}  // namespace faultline
