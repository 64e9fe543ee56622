#include "adapters/grpc/tls_files.h"

#include "base/small_file.h"

namespace faultline {
namespace {

constexpr std::uint64_t file_bytes_max = 1 << 20;

Result<std::string> read_text(const std::string& path) {
  auto text = read_small_file(path, file_bytes_max);
  if (text) return text;
  if (text.error().code == ErrorCode::exhausted) {
    return Error{ErrorCode::invalid_argument, path + " is too large for a certificate"};
  }
  return Error{ErrorCode::not_found, "cannot read " + text.error().message};
}

}  // namespace

Result<TlsText> load_tls(const TlsFiles& files, Instant now) {
  TlsText text;
  const std::pair<const std::string*, std::string*> wanted[] = {
      {&files.authority, &text.authority},
      {&files.certificate, &text.certificate},
      {&files.key, &text.key}};
  for (const auto& [path, target] : wanted) {
    auto read = read_text(*path);
    if (!read) return read.error();
    *target = std::move(read).value();
  }
  auto own = describe_certificate(text.certificate);
  if (!own) return own.error().with_context(files.certificate);
  text.own = std::move(own).value();
  if (now > text.own.not_after) {
    return Error{ErrorCode::permission_denied,
                 files.certificate + " ended on " + to_text(text.own.not_after) +
                     ": issue a new one with `faultline pki issue --force`"};
  }
  if (now < text.own.not_before) {
    return Error{ErrorCode::permission_denied, files.certificate + " is good from " +
                                                   to_text(text.own.not_before) +
                                                   " on: is this machine's clock behind?"};
  }
  if (const auto fits = check_key_pair(text.certificate, text.key); !fits) {
    return Error{fits.error().code,
                 files.key + " " + fits.error().message + ", not of " + files.certificate};
  }
  return text;
}

Result<TlsText> load_server_tls(const TlsFiles& files, Instant now) {
  auto text = load_tls(files, now);
  if (!text) return text;
  if (const auto fits = check_role(text->certificate, PeerRole::controller); !fits) {
    return Error{ErrorCode::permission_denied,
                 files.certificate + " " + fits.error().message +
                     ": issue one with `faultline pki issue --role controller`; what a site's own "
                     "authority must put into it says `faultline pki issue --help`"};
  }
  const auto vouched = check_signature(text->certificate, text->authority, now);
  if (!vouched) {
    return Error{ErrorCode::permission_denied,
                 files.authority + " cannot vouch for " + files.certificate + " (" +
                     vouched.error().message +
                     "), so no agent would believe this controller: give the certificate of the "
                     "authority that signed it, or issue a new one"};
  }
  return text;
}

}  // namespace faultline
