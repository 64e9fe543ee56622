#include "base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace faultline {

void check_failed(const char* expression, const char* file, int line) {
  std::string text = "faultline: check failed: ";
  text += expression;
  text += " at ";
  text += file;
  text += ":" + std::to_string(line) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace faultline
