// For tests: the lines that the agent writes to its own log.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace faultline {

/// What is written to the program's own log while this lives.
class OwnLog {
 public:
  OwnLog() {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    auto logger = std::make_shared<spdlog::logger>("test", std::move(sink));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~OwnLog() { spdlog::set_default_logger(before_); }
  OwnLog(const OwnLog&) = delete;
  OwnLog& operator=(const OwnLog&) = delete;
  /// The lines that have `part`.
  [[nodiscard]] std::vector<std::string> lines(const std::string& part) const {
    std::vector<std::string> found;
    std::istringstream all(text_.str());
    for (std::string line; std::getline(all, line);) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream text_;
};

}  // namespace faultline
