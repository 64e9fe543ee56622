#include "adapters/files/unpacked_reader.h"

#include <utility>

namespace faultline {

Result<std::size_t> UnpackedReader::read(std::span<char> into) {
  const std::size_t made = trouble_ ? 0 : unpack(into);
  unpacked_bytes_ += made;
  if (made > 0) {
    if (const auto limit = reading_.add_unpacked(made); limit)
      stop(Error{ErrorCode::exhausted, *limit}, false);
    return made;
  }
  if (!trouble_) return made;
  if (!std::exchange(named_, true))
    trouble_ = reading_.broken(trouble_->code, layer_, trouble_->message, unpacked_bytes_);
  return *trouble_;
}

void UnpackedReader::stop(Error trouble, bool named) {
  if (trouble_) return;
  trouble_ = std::move(trouble);
  named_ = named;
}

}  // namespace faultline
