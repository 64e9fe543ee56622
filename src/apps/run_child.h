// The wrapped process: started without a shell, its output through pipes, its signals passed on,
// its end recorded.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace faultline {

struct ChildEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool core_dumped = false;

  [[nodiscard]] bool failed() const { return signal.has_value() || exit_code.value_or(0) != 0; }
  /// As a shell reports it: 128 + signal.
  [[nodiscard]] int shell_code() const { return signal ? 128 + *signal : exit_code.value_or(0); }
};

/// One at a time in a process: signal handlers are the process's.
class RunChild {
 public:
  RunChild() = default;
  RunChild(const RunChild&) = delete;
  RunChild& operator=(const RunChild&) = delete;
  ~RunChild();

  /// Starts `command` with these variables added. One pipe for both streams if `merged`, so that
  /// their order is kept. not_found (shells: 127) or permission_denied (126) if it cannot be
  /// executed.
  Status start(const std::vector<std::string>& command,
               const std::vector<std::pair<std::string, std::string>>& variables, bool merged);

  /// Read ends, non-blocking; -1 when closed. With `merged` there is no err.
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int err() const { return err_; }
  void close_out();
  void close_err();
  /// Readable when a signal came, the child's end among them.
  [[nodiscard]] int signal_descriptor() const;
  /// Empties the signal descriptor; the child's end, once it is known.
  std::optional<ChildEnd> reap();
  /// A signal that asks us to stop was passed on: the end that follows is not a fault.
  [[nodiscard]] static bool asked_to_stop();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool reaped_ = false;
};

}  // namespace faultline
