// Texts in a ring: byte by byte, since a reader may look meanwhile; always ended by a zero.
#pragma once

#include <cstddef>

#include "trace/ring_memory.h"

namespace faultline::trace {

/// False if it was cut. A null is the empty text.
template <std::size_t Bytes>
inline bool copy_text(char (&into)[Bytes], const char* text) {
  std::size_t at = 0;
  for (; text != nullptr && text[at] != 0 && at + 1 < Bytes; ++at)
    store_release(into[at], text[at]);
  const bool whole = text == nullptr || text[at] == 0;
  for (; at < Bytes; ++at) store_release(into[at], 0);
  return whole;
}

}  // namespace faultline::trace
