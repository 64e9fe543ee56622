// Certificates as values: made, and read back, with OpenSSL. Nothing here touches a file or a
// clock.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/pki/role.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

/// A certificate and its private key, both PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string name;  // common name, and a DNS name among the alternatives
  PeerRole role = PeerRole::agent;
  std::vector<std::string> dns_names;  // further names the peer may be reached by
  std::vector<std::string> addresses;  // IPv4 or IPv6
  Instant not_before;
  Instant not_after;
};

/// What a certificate says, for people and for tests.
struct CertificateInfo {
  std::string subject;
  std::string issuer;
  std::string name;    // common name
  std::string serial;  // hexadecimal
  std::string sha256;  // fingerprint of the certificate, hexadecimal
  std::vector<std::string>
      names;  // alternatives: "DNS:n3", "IP:10.0.0.3", "URI:faultline:role:agent"
  std::vector<std::string> usages;  // "clientAuth", "serverAuth", "certSign"
  bool authority = false;
  Instant not_before;
  Instant not_after;
};

/// A self-signed authority (EC P-256) that can sign ends, and no further authority.
Result<KeyPair> make_authority(std::string_view name, Instant not_before, Instant not_after);

/// A new key (EC P-256) with a certificate signed by `authority`. exhausted if the authority ends
/// before it would.
Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request);

/// The first certificate of a PEM text.
Result<CertificateInfo> describe_certificate(std::string_view pem);

/// Whether `key` is the private key of the first certificate of `certificate`. conflict: it belongs
/// to another one; corrupt: one of them cannot be read (a key behind a passphrase cannot).
Status check_key_pair(std::string_view certificate, std::string_view key);

/// Whether one of the authorities of `authority` vouches for the first certificate of
/// `certificate`, by way of the further ones there if need be, with all of them in force at `at` if
/// that is given. conflict: it does not, and why; corrupt: one of them cannot be read.
Status check_signature(std::string_view certificate, std::string_view authority,
                       std::optional<Instant> at = std::nullopt);

/// Whether the first certificate of `pem` is for that role and no other, and a handshake takes it
/// from its owner: controllers are servers, all others are clients. conflict: what it is for
/// instead; corrupt: it cannot be read.
Status check_role(std::string_view pem, PeerRole role);

}  // namespace faultline
