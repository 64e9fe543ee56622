// FAULTLINE_CHECK states something that only a bug of ours can break. It aborts: a restart is
// cheap, a wrong act is not. Input from outside is never checked with it; bad input is counted
// (base/counters.h) and reported.
#pragma once

namespace faultline {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace faultline

#define FAULTLINE_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::faultline::check_failed(#expression, __FILE__, __LINE__))
