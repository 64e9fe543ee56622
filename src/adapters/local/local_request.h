// LocalRequest: what a person asks of a local cluster. It is left as a file in the inbox, so that
// asking works while no controller runs, and is taken by the next look of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/local/state_folder.h"
#include "base/enum_text.h"
#include "base/result.h"
#include "base/time.h"

namespace faultline {

enum class LocalRequestKind { submit, cancel, drain, resume, release };
FAULTLINE_ENUM_NAMES(LocalRequestKind, "submit", "cancel", "drain", "resume", "release");

inline constexpr std::size_t request_bytes_max = std::size_t{2} << 20;
inline constexpr std::size_t argv_bytes_max = std::size_t{256} << 10;
inline constexpr std::size_t environment_bytes_max = std::size_t{512}
                                                     << 10;  // the kernel takes 2 MiB with argv
inline constexpr std::size_t array_tasks_max = 1000;
inline constexpr std::uint32_t node_count_max = 65536;

/// "1-3%1", "1,3,5-7": the tasks of an array, and how many may run at once (0: all).
struct ArraySpec {
  std::vector<std::uint32_t> tasks;
  std::uint32_t limit = 0;
};
Result<ArraySpec> parse_array(std::string_view text);

struct LocalRequest {
  LocalRequestKind kind = LocalRequestKind::submit;
  std::string by;      // the user
  std::string job;     // submit, cancel, release
  std::string node;    // drain, resume
  std::string reason;  // drain
  // submit:
  std::string name;
  std::uint32_t node_count = 1;
  ArraySpec array;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
};

/// False for bytes that JSON cannot carry (not UTF-8): they would come out changed.
bool survives_json(const std::string& text);

std::string request_text(const LocalRequest& request);
/// invalid_argument or corrupt for anything but a request whose names, sizes and numbers are good.
Result<LocalRequest> parse_request(std::string_view text);

/// Puts it into the inbox; returns the name of its file.
Result<std::string> leave_request(const StateFolder& folder, const LocalRequest& request,
                                  Instant now);

}  // namespace faultline
