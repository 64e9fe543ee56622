#include "apps/run_gather.h"

#include <algorithm>
#include <utility>

namespace faultline {

void OutputGather::read(Stream stream, std::size_t bytes, Duration now) {
  Pace& pace = this->pace(stream);
  const auto before = std::exchange(pace.last_read, now);
  const bool steady = gathered_ == stream || (before && now - *before < gather_time_max);
  if (bytes >= bulk_bytes) pace.from = std::max(pace.from, now + bulk_time);
  if (!steady || now < pace.from) return;
  stream_ = stream;
  until_ = now + gather_time_max;
}

std::optional<OutputGather::Stream> OutputGather::end() {
  return gathered_ = std::exchange(stream_, std::nullopt);
}

}  // namespace faultline
