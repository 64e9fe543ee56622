#include "adapters/grpc/tls_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace faultline {
namespace {

constexpr std::streamsize file_bytes_max = 1 << 20;

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{ErrorCode::not_found, "cannot read " + path + ": " + std::strerror(errno)};
  std::string text(static_cast<std::size_t>(file_bytes_max), '\0');
  file.read(text.data(), file_bytes_max);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.eof())
    return Error{ErrorCode::invalid_argument, path + " is too large for a certificate"};
  text.shrink_to_fit();
  return text;
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
  return text;
}

}  // namespace faultline
