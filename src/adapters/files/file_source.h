// One file on disk, or standard input, as a source of streams. It is opened to be read and for
// nothing else, and is read as long as it was when it was opened.
#pragma once

#include <string>
#include <utility>

#include "adapters/files/reading.h"

namespace faultline {

/// How a path came to us.
enum class Found {
  named,      // by the user: links are followed, and a pipe is read
  in_folder,  // files alone
  standard_input,
};

class FileSource final : public InputSource {
 public:
  FileSource(std::string path, Found found, InputFile file, const UnpackLimits& limits)
      : path_(std::move(path)), found_(found), file_(std::move(file)), limits_(limits) {}

  [[nodiscard]] const InputFile& file() const override { return file_; }
  void visit(const InputVisitor& visit, const InputWarningSink& warn) override;

 private:
  std::string path_;
  Found found_;
  InputFile file_;
  UnpackLimits limits_;
};

}  // namespace faultline
