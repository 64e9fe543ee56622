// A folder that is a certificate authority: ca.crt, ca.key, and for each name NAME.crt and
// NAME.key. Keys are readable by their owner alone. Small on purpose: it signs, and has no list of
// what it signed and no revocation; certificates are short-lived instead.
#pragma once

#include <string>
#include <vector>

#include "adapters/pki/certificate.h"
#include "base/clock.h"
#include "base/result.h"

namespace faultline {

inline constexpr int authority_days_default = 3650;
inline constexpr int certificate_days_default = 365;
inline constexpr int days_max = 7300;
inline constexpr std::size_t certificate_name_bytes_max = 64;  // X.520's limit of a common name
inline constexpr std::size_t alternative_names_max = 64;

struct IssueRequest {
  std::string name;
  PeerRole role = PeerRole::agent;
  std::vector<std::string> dns_names{};
  std::vector<std::string> addresses{};
  int days = certificate_days_default;
  bool force = false;  // replace files of that name
};

/// Paths of what was written.
struct IssuedFiles {
  std::string authority;
  std::string certificate;
  std::string key;
};

/// Makes the folder (mode 0700 if it is new) and the authority in it. conflict if there is one and
/// not `force`.
Result<IssuedFiles> init_authority(const std::string& folder, int days, bool force,
                                   const Clock& clock);

/// Signs a new certificate with the authority of `folder`. invalid_argument: a bad name, address or
/// number of days; conflict: there is one of that name and not `force`; not_found: no authority
/// there.
Result<IssuedFiles> issue(const std::string& folder, const IssueRequest& request,
                          const Clock& clock);

/// The certificate of a file.
Result<CertificateInfo> show_certificate(const std::string& file);

}  // namespace faultline
