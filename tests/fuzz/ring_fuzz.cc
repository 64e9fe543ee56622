// A black box in which any bytes were changed, and which may be cut: refused, or a snapshot within
// its limits that is the same the next time. The input is a list of changes, three bytes of place,
// one of length, and what stands there then; the place 0xffffff cuts the file to what follows in
// three bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "tests/fixtures/ring_story.h"

namespace {

using namespace faultline;

std::uint32_t number_at(const std::uint8_t* data) {
  return data[0] | data[1] << 8U | std::uint32_t{data[2]} << 16U;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const StoryRing story = stuck_rank();
  // What is read: all but the operations of communicators that are not there.
  constexpr std::size_t used =
      ringfmt::operations_offset + 4 * sizeof(ringfmt::Ring::operations[0]);
  static const auto copy = std::make_unique<ringfmt::Ring>();
  std::memcpy(copy.get(), story.ring.get(), used);
  auto* bytes = reinterpret_cast<std::uint8_t*>(copy.get());
  std::size_t cut = ringfmt::ring_bytes;
  while (size >= 4) {
    const std::uint32_t place = number_at(data);
    if (place == 0xffffff) {
      if (size < 6) break;
      cut = std::min<std::size_t>(cut, number_at(data + 3));
      data += 6;
      size -= 6;
      continue;
    }
    const std::size_t length = std::min<std::size_t>(data[3], size - 4);
    const std::size_t at = place % (used - 256);
    std::memcpy(bytes + at, data + 4, length);
    data += 4 + length;
    size -= 4 + length;
  }
  MemoryRing memory(bytes, cut);
  const auto snapshot = read_ring(memory);
  if (!snapshot.ok()) {
    FAULTLINE_CHECK(!snapshot.error().message.empty());
    return 0;
  }
  check_limits(*snapshot);
  const auto again = read_ring(memory);
  FAULTLINE_CHECK(again.ok() && *again == *snapshot);
  return 0;
}
