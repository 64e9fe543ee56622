// The last line of a rank's output: often its only word on why it failed.
#pragma once

#include <string>
#include <string_view>

namespace faultline {

/// One stream of output. Keeps its end alone, so that its cost does not grow with a job that prints
/// a lot.
class LastLine {
 public:
  void output(std::string_view bytes);
  /// The last line that is not blank, complete or not; "" if there is none.
  [[nodiscard]] std::string text() const;

 private:
  std::string end_;
};

}  // namespace faultline
