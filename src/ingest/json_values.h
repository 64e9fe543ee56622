// Members of JSON that other programs wrote: whatever a member is, reading it gives a value or
// nothing. Numbers may be Slurm's {"set": true, "infinite": false, "number": 7}.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace faultline {

/// The member, or null. `object` may be anything.
const nlohmann::json& json_field(const nlohmann::json& object, const char* name);

/// 7, "7", 7.0 or {"set": true, "infinite": false, "number": 7}; nothing if it is not set.
std::optional<std::int64_t> json_number(const nlohmann::json& value);

/// "" if it is no text.
std::string json_text(const nlohmann::json& value);

/// true, "true", or a number that is not 0.
bool json_boolean(const nlohmann::json& value);

/// "IDLE", ["IDLE", "DRAIN"] or nothing; upper case.
void append_json_words(const nlohmann::json& value, std::vector<std::string>& words);

/// "a,b" or ["a", "b"].
std::vector<std::string> json_list(const nlohmann::json& value);

/// Seconds since 1970; 0 is not known.
Instant json_instant(const nlohmann::json& value);

/// {"return_code": 3 or {set..}, "signal": {"id" or "signal_id": 9 or {set..}}}.
std::optional<std::int32_t> json_exit_code(const nlohmann::json& value);

}  // namespace faultline
