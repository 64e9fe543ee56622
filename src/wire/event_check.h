// What an event from outside must look like before anything else in the program sees it. Both ends
// ask the same function: an agent before it spools, so that nothing it keeps can be refused later,
// and the controller on arrival.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "model/event.h"

namespace faultline {

inline constexpr std::size_t event_id_bytes_max = 64;
inline constexpr std::size_t field_name_bytes_max = 64;
inline constexpr std::size_t signature_bytes_max = 128;
inline constexpr std::size_t subject_part_bytes_max = 256;
inline constexpr std::size_t raw_path_bytes_max = 4096;  // PATH_MAX
inline constexpr std::size_t boot_id_bytes_max = 64;
inline constexpr std::int32_t rank_max = (1 << 24) - 1;

/// A cut by printable() ends in "...", which it adds on top of its limit.
inline constexpr std::size_t cut_mark_bytes = 3;

/// invalid_argument, and which part of the event is wrong; ok if it may be stored. Text must be
/// UTF-8 without control characters (tab and, in field values, line feed excepted), and the subject
/// must be what its own text form says.
Status check_event(const Event& event);

}  // namespace faultline
