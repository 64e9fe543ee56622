// The targets of people's requests, as the text that lies in the store and travels over the wire,
// and the silences that follow from them. Pure functions, so that a running controller, one that
// just started and `faultline silences` cannot differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/silence.h"
#include "model/subject.h"
#include "store/store.h"

namespace faultline {

/// A silence is a promise to come back. One that outlives a week is a policy, and belongs there.
inline constexpr Duration silence_max = std::chrono::hours{24 * 7};
inline constexpr std::size_t silence_reason_bytes_max = 200;
inline constexpr std::size_t repair_note_bytes_max = 200;

/// The target of a "silence": "node:n3 2h new cable on port 3".
struct SilenceTarget {
  Subject subject;
  Duration length{};
  std::string reason;
};
Result<SilenceTarget> parse_silence(std::string_view target);
/// Of the three words of a person. `subject` may be the bare name of a node. invalid_argument, with
/// what was expected.
Result<SilenceTarget> make_silence(std::string_view subject, std::string_view length,
                                   std::string_view reason);
/// The target of a "repair": "n3" or "n3 RMA 4711".
struct RepairTarget {
  std::string node;
  std::string note;  // "": none
};
Result<RepairTarget> parse_repair(std::string_view target);
/// Of the two words of a person. invalid_argument, with what was expected.
Result<RepairTarget> make_repair(std::string_view node, std::string_view note);

/// "90s", "30m", "2h", "7d".
std::optional<Duration> parse_length(std::string_view text);

/// Every silence that was taken among `requests` (oldest first), whether or not it still holds.
std::vector<Silence> silences_of(const std::vector<PersonRequest>& requests);

}  // namespace faultline
