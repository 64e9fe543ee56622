// A job's own words: what it prints, and what its launcher says of it. Anybody can print anything,
// so words keep that job off a node and send the node to a test. More takes a second witness.
#pragma once

#include <optional>
#include <string>

#include "policy/policy.h"

namespace faultline {

/// True if somebody says so whose words no job can write.
bool has_independent_witness(const Verdict& verdict);

/// What a job prints, or its launcher says of it.
bool spoken_by_job(EventSource source);

/// True if a job says so and nobody else.
bool stands_on_words(const Verdict& verdict);

/// What the words of a job lack to keep it off the node that they name; nullopt if nothing.
std::optional<std::string> words_lack(const PolicyInput& input);

}  // namespace faultline
