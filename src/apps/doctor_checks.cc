#include "apps/doctor_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "adapters/agent_socket/agent_client.h"
#include "adapters/http/health_client.h"
#include "adapters/journal/journal_source.h"
#include "adapters/local/state_folder.h"
#include "adapters/pki/certificate.h"
#include "apps/catalog_path.h"
#include "base/small_file.h"
#include "base/text.h"
#include "store/store.h"
#include "store/write_ahead_log.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t free_bytes_min = 1ULL << 30;
constexpr std::uint64_t certificate_bytes_max = 1 << 20;
constexpr Duration certificate_warning = std::chrono::hours{24} * 30;
constexpr mode_t others_read_or_write = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
constexpr mode_t others_write = S_IWGRP | S_IWOTH;

/// "" if it cannot be read.
std::string read_file(const std::string& file) {
  auto content = read_small_file(file, certificate_bytes_max);
  return content ? std::move(content).value() : std::string{};
}

/// `path`, or the first of the folders above it that is there.
fs::path nearest_existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(fs::symlink_status(path, error)) && path.has_relative_path())
    path = path.parent_path();
  return path.empty() ? "." : path;
}

/// Why the agent could not follow `file`; "" if it could.
std::string unreadable(const std::string& file, bool device) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::strerror(errno);
  struct stat about {};
  const bool fits = device || (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode));
  ::close(descriptor);
  return fits ? "" : "not a regular file";
}

/// A store that cannot be opened now may be as well as any: only damage is mended by a backup.
std::string remedy_of_store(ErrorCode code, const std::string& as_its_user) {
  switch (code) {
    case ErrorCode::corrupt: return "move it aside and put back a backup";
    case ErrorCode::permission_denied: return as_its_user;
    case ErrorCode::invalid_argument: return "correct --store";
    default: return "mend that; the store itself is not known to be damaged";
  }
}

}  // namespace

DoctorCheck DoctorCheck::good(std::string name, std::string detail) {
  return {std::move(name), CheckState::ok, std::move(detail), {}};
}

DoctorCheck DoctorCheck::doubtful(std::string name, std::string detail, std::string remedy) {
  return {std::move(name), CheckState::warning, std::move(detail), std::move(remedy)};
}

DoctorCheck DoctorCheck::bad(std::string name, std::string detail, std::string remedy) {
  return {std::move(name), CheckState::failed, std::move(detail), std::move(remedy)};
}

DoctorCheck check_catalog(const std::string& given) {
  const auto catalog = load_catalog(given);
  if (!catalog)
    return DoctorCheck::bad("catalog", catalog.error().message,
                            "reinstall it, or name another with --catalog");
  return DoctorCheck::good("catalog", catalog_folder(given).string() + ": " +
                                          std::to_string(catalog->signatures().size()) +
                                          " signatures, " +
                                          std::to_string(catalog->causes().size()) + " causes");
}

DoctorCheck check_kernel_log(const std::string& source) {
  const std::string name = "kernel log " + source;
  if (source.starts_with("journal")) {
    JournalSource journal(source == "journal" ? "" : source.substr(source.find(':') + 1));
    const auto read = journal.poll(1);
    if (read) return DoctorCheck::good(name, "can be read through libsystemd");
    return DoctorCheck::bad(name, read.error().message, "or name another with --kernel-log");
  }
  const std::string file = source == "kmsg" ? "/dev/kmsg" : source;
  const std::string why = unreadable(file, source == "kmsg");
  if (why.empty()) return DoctorCheck::good(name, file + " can be read");
  return DoctorCheck::bad(
      name, file + " cannot be read: " + why,
      source == "kmsg" ? "run the agent as root or give it CAP_SYSLOG, or use --kernel-log journal"
                       : "is that the right file, and may this user read it?");
}

DoctorCheck check_writable_folder(const std::string& name, const std::string& given) {
  const std::string folder = given.empty() ? "." : given;
  std::error_code error;
  const fs::path there = nearest_existing(folder);
  const bool missing = there != fs::path(folder);
  if (!fs::is_directory(there, error))
    return DoctorCheck::bad(name, there.string() + " is no folder", "choose another, or move it");
  if (::access(there.c_str(), W_OK) != 0) {
    if (missing) {
      return DoctorCheck::bad(name, folder + " is not there, and this user cannot make it",
                              "the systemd unit makes it; without one: mkdir -p " + folder);
    }
    return DoctorCheck::bad(name, folder + " cannot be written",
                            "give it to the user that runs faultline");
  }
  const auto space = fs::space(there, error);
  if (!error && space.available < free_bytes_min)
    return DoctorCheck::doubtful(name, folder + " has less than 1 GiB free",
                                 "free space, or move it");
  return DoctorCheck::good(name, folder + (missing ? " is made at the start" : " can be written"));
}

DoctorCheck check_store(const std::string& file) {
  const std::string as_its_user = "run doctor as the user that runs `faultline serve`";
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0 && errno == EACCES)
    return DoctorCheck::bad("store", "this user may not look into the folder of " + file,
                            as_its_user);
  const LogFindings log = examine_log(file, Examine::look);
  if (log.damaged)
    return DoctorCheck::bad("store", log.text,
                            "put back a copy made by `faultline store backup`, or go on without");
  const auto store = Store::open(file, Access::read_only);
  if (!log.text.empty() && (store || store.error().code == ErrorCode::not_found))
    return DoctorCheck::doubtful("store", log.text, "see that the disk is well");
  if (store) return DoctorCheck::good("store", file + " is whole");
  if (store.error().code == ErrorCode::not_found) {
    return DoctorCheck::doubtful("store", file + " is not there yet",
                                 "`faultline serve` makes it at its first start");
  }
  return DoctorCheck::bad("store", store.error().message,
                          remedy_of_store(store.error().code, as_its_user));
}

DoctorCheck check_agent_answers(const std::string& socket) {
  AgentClient client;
  const auto connected = client.connect(socket);
  if (connected) return DoctorCheck::good("agent", "listens on " + socket);
  return DoctorCheck::doubtful("agent", connected.error().message,
                               "start `faultline agent`, if it should be up; `journalctl -u "
                               "faultline-agent` says why it ended");
}

DoctorCheck check_certificate(const std::string& name, const std::string& file, Instant now) {
  if (file.empty())
    return DoctorCheck::bad(name, "not set",
                            "`faultline pki issue` makes one and prints the flags");
  const std::string text = read_file(file);
  if (text.empty())
    return DoctorCheck::bad(name, file + " cannot be read",
                            "is the path right, and may this user read it?");
  const auto info = describe_certificate(text);
  if (!info)
    return DoctorCheck::bad(name, file + ": " + info.error().message,
                            "issue it again with `faultline pki issue`");
  if (now >= info->not_after)
    return DoctorCheck::bad(name, file + " ended at " + to_text(info->not_after),
                            "issue it again with `faultline pki issue --force`");
  if (now < info->not_before)
    return DoctorCheck::bad(name, file + " is good only from " + to_text(info->not_before),
                            "is this machine's clock right?");
  if (info->not_after - now < certificate_warning)
    return DoctorCheck::doubtful(name, file + " ends at " + to_text(info->not_after),
                                 "issue it again soon");
  return DoctorCheck::good(name, info->name + ", until " + to_text(info->not_after).substr(0, 10));
}

DoctorCheck check_key_file(const std::string& file) {
  const std::string name = "private key";
  const std::string remedy =
      "issue one with `faultline pki issue` and make it readable for this user alone";
  if (file.empty()) return DoctorCheck::bad(name, "--tls-key is not set", remedy);
  struct stat about {};
  if (read_file(file).empty() || ::stat(file.c_str(), &about) != 0)
    return DoctorCheck::bad(name, file + " cannot be read", remedy);
  if ((about.st_mode & others_read_or_write) != 0) {
    return DoctorCheck::bad(
        name, fmt::format("{} is open to others (mode {:04o})", file, about.st_mode & 07777U),
        "chmod 600 " + file + "; if others were about, issue a new one");
  }
  return DoctorCheck::good(name, file + ", its owner's alone");
}

DoctorCheck check_key_fits(const std::string& certificate, const std::string& key) {
  const std::string name = "key of certificate";
  const auto fits = check_key_pair(read_file(certificate), read_file(key));
  if (fits) return DoctorCheck::good(name, "they belong together");
  return DoctorCheck::bad(name, key + " " + fits.error().message + ", not of " + certificate,
                          "copy both files of one name from the authority's folder");
}

DoctorCheck check_signed_by(const std::string& certificate, const std::string& authority) {
  const std::string name = "signature";
  const auto vouched = check_signature(read_file(certificate), read_file(authority));
  if (vouched) return DoctorCheck::good(name, "by that authority");
  return DoctorCheck::bad(
      name, authority + " did not sign " + certificate + ": " + vouched.error().message,
      "copy ca.crt from where the certificate was issued, or issue the certificate there");
}

DoctorCheck check_role_fits(const std::string& certificate, PeerRole role) {
  const std::string name = "role";
  const auto fits = check_role(read_file(certificate), role);
  const std::string wanted(to_text(role));
  if (fits) return DoctorCheck::good(name, wanted);
  return DoctorCheck::bad(name, certificate + " " + fits.error().message,
                          "issue one with `faultline pki issue --role " + wanted + "`");
}

DoctorCheck check_node_name(const std::string& certificate, const std::string& node) {
  const std::string name = "node name";
  const auto info = describe_certificate(read_file(certificate));
  const std::string named = info ? info->name : std::string{};
  if (named == node) return DoctorCheck::good(name, node);
  return DoctorCheck::bad(
      name, certificate + " is of '" + named + "', this node is '" + printable(node, 80) + "'",
      "copy the certificate and key of this node here, or set --node");
}

DoctorCheck check_local_state(const std::string& folder, uid_t user) {
  const std::string name = "scheduler";
  if (folder.empty()) {
    return DoctorCheck::bad(name, "--scheduler local without --local-state",
                            "`faultline local init` makes one; set local-state to it");
  }
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
    return DoctorCheck::bad(name, folder + " is not there",
                            "`faultline local init --state " + folder + " --nodes n1,n2`");
  }
  if (about.st_uid != user) {
    const std::string owner = "uid " + std::to_string(about.st_uid);
    // Root looks after a service that runs as somebody else: that may well be right.
    if (user == 0) {
      return DoctorCheck::doubtful(name, folder + " belongs to " + owner,
                                   "run doctor as the user that runs `faultline serve`");
    }
    return DoctorCheck::bad(name, folder + " belongs to " + owner,
                            "run as that user, or make a folder of your own");
  }
  if ((about.st_mode & others_write) != 0) {
    return DoctorCheck::bad(name, folder + " can be written by others, who could run jobs as you",
                            "chmod 700 " + folder);
  }
  const StateFolder state(folder);
  const auto loaded = state.load();
  if (!loaded) return DoctorCheck::bad(name, loaded.error().message, "see --local-state");
  for (const auto& part : {state.inbox(), state.jobs()}) {
    std::error_code ignored;
    if (!fs::is_directory(part, ignored))
      return DoctorCheck::bad(name, part.string() + " is not there",
                              "mkdir -m 700 " + part.string());
  }
  return DoctorCheck::good(
      name, "local, " + folder + ": " + std::to_string(loaded->nodes.size()) + " nodes");
}

DoctorCheck check_serve_answers(const std::string& listen) {
  const std::string name = "serve";
  if (listen.empty()) return DoctorCheck::good(name, "not asked: --status-listen is empty");
  if (listen.ends_with(":0"))
    return DoctorCheck::good(name, "not asked: --status-listen takes any port");
  const auto health = ask_health(listen);
  if (!health && health.error().code == ErrorCode::not_found) {
    return DoctorCheck::doubtful(name, health.error().message,
                                 "start `faultline serve`, if it should be up");
  }
  if (!health) {
    return DoctorCheck::bad(name, health.error().message,
                            "restart `faultline serve`; if another program has that port, give "
                            "--status-listen a free one");
  }
  const std::string reasons = join(health->reasons, "; ");
  if (health->ok && reasons.empty()) return DoctorCheck::good(name, listen + "/healthz says ok");
  if (health->ok) {
    return DoctorCheck::doubtful(name, listen + "/healthz says ok, and: " + reasons,
                                 "it was found at its start, and is said until the next one");
  }
  return DoctorCheck::bad(name, listen + "/healthz says unhealthy: " + reasons,
                          "mend that; `faultline serve` goes on by itself");
}

}  // namespace faultline
