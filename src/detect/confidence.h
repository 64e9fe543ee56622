// How sure a verdict is, in words. The steps are judgement, not statistics: what acts on them is
// their order, and `words_confidence_min` in catalog/policies, which lies between `fair` and
// `likely`.
#pragma once

namespace faultline::confidence {

inline constexpr double proven = 0.95;  // two witnesses, or the device's own decisive word
inline constexpr double certain = 0.9;  // one witness whose word can mean nothing else
inline constexpr double strong = 0.85;  // a decisive word with a rare other reading
inline constexpr double likely = 0.7;   // a job's decisive word; the best of few explanations
inline constexpr double fair = 0.6;     // fits well, and nothing else was seen that fits
inline constexpr double even = 0.5;     // as likely as not
inline constexpr double weak = 0.4;     // one explanation of several
inline constexpr double hint = 0.3;     // says where to look, not what it is

}  // namespace faultline::confidence
