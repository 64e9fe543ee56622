// What all unpacked streams have in common: they count against the limits, end at their first
// trouble, and name it when their reader gets there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "adapters/files/reading.h"

namespace faultline {

class UnpackedReader : public InputReader {
 public:
  Result<std::size_t> read(std::span<char> into) final;
  /// It ended with an error.
  [[nodiscard]] bool failed() const { return trouble_.has_value(); }

 protected:
  /// Both must live as long as this. `layer` is what troubles are said of: the packed stream.
  UnpackedReader(const std::string& layer, Reading& reading) : layer_(layer), reading_(reading) {}

  /// Unpacks into the front of `into`: 0 at the end, or after one of the two below.
  virtual std::size_t unpack(std::span<char> into) = 0;
  void damaged(std::string_view what) { stop(Error{ErrorCode::corrupt, std::string(what)}, false); }
  void source_failed(const Error& error) { stop(error, true); }
  [[nodiscard]] bool stopped() const { return trouble_.has_value(); }

 private:
  void stop(Error trouble, bool named);

  const std::string& layer_;
  Reading& reading_;
  std::uint64_t unpacked_bytes_ = 0;
  std::optional<Error> trouble_;
  bool named_ = false;
};

}  // namespace faultline
