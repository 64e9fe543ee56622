// The single checks of `faultline doctor`. Each looks at one thing, changes nothing, and says what
// to do if that thing is not well.
#pragma once

#include <sys/types.h>

#include <string>

#include "adapters/pki/role.h"
#include "base/enum_text.h"
#include "base/time.h"

namespace faultline {

enum class CheckState { ok, warning, failed };
FAULTLINE_ENUM_NAMES(CheckState, "ok", "warning", "failed");

struct DoctorCheck {
  std::string name;
  CheckState state = CheckState::ok;
  std::string detail;  // what was seen
  std::string remedy;  // what to do; "" when ok

  static DoctorCheck good(std::string name, std::string detail);
  static DoctorCheck doubtful(std::string name, std::string detail, std::string remedy);
  static DoctorCheck bad(std::string name, std::string detail, std::string remedy);
};

DoctorCheck check_catalog(const std::string& given);
DoctorCheck check_kernel_log(const std::string& source);
DoctorCheck check_writable_folder(const std::string& name, const std::string& folder);
DoctorCheck check_store(const std::string& file);
/// Whether an agent listens on its socket. That none is up is a warning.
DoctorCheck check_agent_answers(const std::string& socket);

/// That it is a certificate, and good at `now`.
DoctorCheck check_certificate(const std::string& name, const std::string& file, Instant now);
/// That it can be read, and by its owner alone.
DoctorCheck check_key_file(const std::string& file);

/// The next four look at a certificate that check_certificate could read.
DoctorCheck check_key_fits(const std::string& certificate, const std::string& key);
DoctorCheck check_signed_by(const std::string& certificate, const std::string& authority);
DoctorCheck check_role_fits(const std::string& certificate, PeerRole role);
DoctorCheck check_node_name(const std::string& certificate, const std::string& node);

/// The folder of the local scheduler, which the user with the number `user` is to serve. Takes no
/// lock: a running controller holds it.
DoctorCheck check_local_state(const std::string& folder, uid_t user);

/// Whether the `faultline serve` whose --status-listen is `listen` says that it is well. That none
/// is up is a warning. Waits some seconds at most.
DoctorCheck check_serve_answers(const std::string& listen);

}  // namespace faultline
