// What stands before the lines of a Python traceback where none of the labels that job_prefix knows
// does: a logger's name and level, a worker's name of one's own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// Of the signature whose lines TracebackLabels waits for; it makes no event.
inline constexpr std::string_view traceback_signature = "python.traceback";

/// Sees a job's lines one after the other. Memory: bounded. Not thread-safe.
class TracebackLabels {
 public:
  /// How many bytes of `body` are a label that stood before the first line of a traceback, with
  /// whatever numbers; 0 if none does.
  std::size_t take(std::string_view body);

 private:
  void learn(std::string_view label);

  std::vector<std::string> shapes_;  // the numbers in them are 0; the last was seen last
};

}  // namespace faultline
