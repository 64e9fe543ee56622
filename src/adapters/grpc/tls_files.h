// Where the certificates lie, and their text. Read anew for each connection, so that a renewed file
// is used without a restart.
#pragma once

#include <string>

#include "adapters/pki/certificate.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

struct TlsFiles {
  std::string authority;    // ca.crt: whom to believe
  std::string certificate;  // n3.crt
  std::string key;          // n3.key
};

struct TlsText {
  std::string authority;
  std::string certificate;
  std::string key;
  CertificateInfo own;  // what `certificate` says
};

/// permission_denied if our own certificate has ended or is not yet good at `now`, conflict if the
/// key is another's; that is clearer than what the other side's handshake would say.
Result<TlsText> load_tls(const TlsFiles& files, Instant now);

/// The same for a controller; permission_denied also if the certificate is for another role, or the
/// authority has not signed it or has ended itself.
Result<TlsText> load_server_tls(const TlsFiles& files, Instant now);

}  // namespace faultline
