// Errors are values. Result<T> holds a T or an Error; no exception crosses a module boundary.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace faultline {

enum class ErrorCode {
  invalid_argument,   // the input itself is wrong; trying again cannot help
  not_found,          // the named thing does not exist
  permission_denied,  // the caller may not do this
  unavailable,        // the other side is down or busy; trying again later can help
  deadline_exceeded,  // no answer in time; whether it happened is unknown
  conflict,           // somebody else owns or changed the thing
  corrupt,            // stored or received bytes contradict their own format
  exhausted,          // a named limit was reached
  internal,           // a bug of ours
};

/// The word used in JSON and logs, e.g. "deadline_exceeded".
std::string_view to_text(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one line, says what to do where that is known

  /// The same error with `context` in front: "reading slurm.conf: no such file".
  [[nodiscard]] Error with_context(std::string_view context) const;
};

/// The value of a Result that carries nothing.
struct Unit {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const T& value() const& {
    FAULTLINE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & {
    FAULTLINE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    FAULTLINE_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const {
    FAULTLINE_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

}  // namespace faultline

/// Returns the error of a Result-valued expression from the enclosing function, or goes on.
#define FAULTLINE_TRY(expression)                                             \
  do {                                                                        \
    if (auto faultline_try_result = (expression); !faultline_try_result.ok()) \
      return faultline_try_result.error();                                    \
  } while (false)
