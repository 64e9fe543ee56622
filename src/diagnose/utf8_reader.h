// A text in whatever encoding, as UTF-8: what PowerShell and Notepad save is UTF-16, or has a mark
// before it. All else passes as it is.
#pragma once

#include <string>

#include "diagnose/input.h"
#include "ingest/content_kind.h"

namespace faultline {

class Utf8Reader final : public InputReader {
 public:
  /// `source` must live as long as this.
  explicit Utf8Reader(InputReader& source) : source_(source) {}

  Result<std::size_t> read(std::span<char> into) override;

 private:
  void begin();
  Status take_block();

  InputReader& source_;
  bool begun_ = false;
  TextEncoding encoding_ = TextEncoding::utf8;
  std::string wide_;   // UTF-16, not yet read: never more than a block and half a character
  std::string ready_;  // UTF-8, not yet given
  std::size_t given_ = 0;
};

}  // namespace faultline
