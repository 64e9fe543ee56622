// "did you mean": the known word that a mistyped one was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// The word of `known` with the fewest mistakes in `word` (a letter wrong, missing, too many, or
/// two swapped), or "" if none is near: at most one mistake for every three letters.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'serve'?", or "" if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace faultline
