// A log whose lines somebody's terminal, web page or mail broke at its width, with its lines whole.
// All else passes as it is.
#pragma once

#include <optional>
#include <string>

#include "diagnose/input.h"
#include "ingest/line_unwrapper.h"

namespace faultline {

class UnwrappingReader final : public InputReader {
 public:
  /// `source` gives UTF-8 and must live as long as this.
  explicit UnwrappingReader(InputReader& source) : source_(source) {}

  Result<std::size_t> read(std::span<char> into) override;

 private:
  void begin();
  void take_block();

  InputReader& source_;
  bool begun_ = false;
  std::optional<LineUnwrapper> unwrapper_;  // of a log that is wrapped, until it has ended
  std::string block_;
  std::string ready_;  // not yet given
  std::size_t given_ = 0;
};

}  // namespace faultline
