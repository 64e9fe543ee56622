// What `faultline run` and the node's agent say to each other: one JSON object a line, over a Unix
// socket. The text form is here because both ends need it; the sockets are an adapter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/result.h"
#include "base/time.h"
#include "model/subject.h"

namespace faultline {

enum class LauncherVerb {
  rank_started,
  rank_exited,
  progress_stalled,
  progress_resumed,
  await_ruling
};
FAULTLINE_ENUM_NAMES(LauncherVerb, "rank_started", "rank_exited", "progress_stalled",
                     "progress_resumed", "await_ruling");

inline constexpr std::size_t launcher_line_bytes_max = 16 * 1024;

inline constexpr std::size_t last_line_bytes_max = 512;

/// From the launcher to the agent. Which fields matter depends on the verb.
struct LauncherMessage {
  LauncherVerb verb = LauncherVerb::rank_started;
  AttemptId attempt;
  std::int32_t rank = -1;
  Instant at;  // when it happened, on the node's wall clock

  // rank_started
  std::int32_t local_rank = -1;
  std::int32_t world = 0;
  std::int64_t pid = 0;  // of the wrapped process
  std::string node;
  std::string log;              // absolute path of the rank's log, "" if there is none
  std::uint64_t log_start = 0;  // where this attempt's lines begin in it
  std::vector<std::string> gpus;

  // rank_exited: one of the two
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  bool core_dumped = false;
  std::optional<std::uint64_t> step;  // the last that its output spoke of
  /// Of a rank that failed: the last line of its output, "" if it printed nothing.
  std::optional<std::string> last_line;

  // progress_stalled, progress_resumed
  Duration silent{0};
  Duration usual{0};

  bool operator==(const LauncherMessage&) const = default;
};

/// From the agent to the launcher.
struct LauncherReply {
  enum class Kind { ruling, refused };
  Kind kind = Kind::ruling;
  AttemptId attempt;
  bool final = false;  // ruling: nothing more will come
  std::string text;    // the ruling, or why the message was refused

  bool operator==(const LauncherReply&) const = default;
};
FAULTLINE_ENUM_NAMES(LauncherReply::Kind, "ruling", "refused");

/// One line without its newline.
std::string to_line(const LauncherMessage& message);
std::string to_line(const LauncherReply& reply);
/// invalid_argument says what is wrong. Unknown keys are ignored, so that old and new versions can
/// talk.
Result<LauncherMessage> parse_launcher_message(std::string_view line);
Result<LauncherReply> parse_launcher_reply(std::string_view line);

/// Who is at the other end, as the kernel says (SO_PEERCRED), never as the message claims.
struct LauncherPeer {
  std::uint64_t connection = 0;  // never reused
  std::uint32_t uid = 0;
  std::int64_t pid = 0;
};

/// The agent's end: where launchers come in. Owned and polled by the agent's one thread; nothing in
/// it blocks.
class LauncherDoor {
 public:
  struct Arrival {
    LauncherPeer peer;
    Result<LauncherMessage> message;  // an error: the line was no message
  };
  virtual ~LauncherDoor() = default;
  virtual std::vector<Arrival> poll() = 0;
  /// Dropped if the connection is gone or its peer does not read.
  virtual void reply(std::uint64_t connection, const LauncherReply& reply) = 0;
  /// Connections closed since the last call.
  virtual std::vector<std::uint64_t> take_closed() = 0;
  /// Readable when poll() has something to do.
  [[nodiscard]] virtual int wait_descriptor() const = 0;
};

}  // namespace faultline
