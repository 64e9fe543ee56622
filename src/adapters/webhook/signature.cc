#include "adapters/webhook/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t secret_bytes_max = 4096;
constexpr std::uint64_t file_bytes_max = 1 << 20;

}  // namespace

std::string webhook_signature(std::string_view secret, std::string_view timestamp,
                              std::string_view body) {
  const std::string message = std::string(timestamp) + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
       &bytes);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "sha256=";
  for (unsigned int i = 0; i < bytes; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

Result<std::string> read_secret_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Error{ErrorCode::not_found, "secret file " + path + ": " + std::strerror(errno)};
  }
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return Error{ErrorCode::permission_denied,
                 "secret file " + path + " can be read by others: chmod 600 it"};
  }
  auto content = read_small_file(path, file_bytes_max);
  if (!S_ISREG(status.st_mode) || !content || content->empty()) {
    return Error{ErrorCode::invalid_argument, "secret file " + path + " is empty or no file"};
  }
  const std::string secret(trim(content->substr(0, content->find('\n'))));
  if (secret.empty() || secret.size() > secret_bytes_max) {
    return Error{ErrorCode::invalid_argument,
                 "secret file " + path + " holds no secret of 1 to 4096 bytes"};
  }
  return secret;
}

}  // namespace faultline
