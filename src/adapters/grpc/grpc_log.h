// What gRPC says by itself: of handshakes that failed, of sockets it cannot have. It would go to
// standard error in gRPC's own form.
#pragma once

#include <functional>
#include <string>

namespace faultline {

/// While one lives, what gRPC complains of goes to `hear`, called from any thread; of several, to
/// the newest. gRPC has one log for the whole process, which is why this is not a member of a
/// server.
class GrpcLog {
 public:
  using Hear = std::function<void(const std::string& text)>;
  explicit GrpcLog(Hear hear);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;

 private:
  const Hear hear_;
};

/// OpenSSL's reason, if `text` says that a handshake failed; else "".
std::string failed_handshake(const std::string& text);

/// The system's words for why gRPC could not have a socket, if `text` has them; else "".
std::string system_reason(const std::string& text);

}  // namespace faultline
