// Reads the black box of another process, which may be running, stopped, dead, broken or hostile.
// Nothing in the file is believed: every number is checked against the format's limits, every text
// is made printable, and what cannot be right is left out and counted by name in the snapshot.
//
// A record is read twice; the same bytes both times are one moment's. A running writer changes a
// few of them meanwhile: those are read again, and said to be torn if they never stay the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "ingest/ring_snapshot.h"

namespace faultline {

inline constexpr int ring_read_tries_max = 4;  // of one record

/// The file. Each call reads anew; it is never mapped, since its owner may truncate it.
class RingBytes {
 public:
  virtual ~RingBytes() = default;
  /// How many bytes came: fewer at the end of the file, or where it cannot be read.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> into) = 0;
};

/// invalid_argument: no black box, or of another version; unavailable: still being set up; corrupt:
/// shorter than its head, or laid out as no writer does. All else is in `problems`.
Result<RingSnapshot> read_ring(RingBytes& bytes);

}  // namespace faultline
