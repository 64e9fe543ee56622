// The training step that a rank's output last spoke of: "step 120", "iter 120/1000", "iteration
// 120", "global_step=120". What it is for: to tell an attempt that got somewhere from one that did
// not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace faultline {

/// The last step that a line names; nullopt if it names none ("0.31 s/step", "step time 12").
std::optional<std::uint64_t> step_in(std::string_view line);

/// One stream of output. Looks only at the end of what comes at once, so that its cost does not
/// grow with a job that prints a lot.
class StepWatch {
 public:
  void output(std::string_view bytes);
  [[nodiscard]] std::optional<std::uint64_t> last() const { return last_; }

 private:
  std::string rest_;  // of a line that is not complete: half of "step 120" is another step
  std::optional<std::uint64_t> last_;
};

}  // namespace faultline
