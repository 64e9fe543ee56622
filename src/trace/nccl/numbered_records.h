// Records that are never given back: the newest `capacity` of them are there, each known by its
// number. So whoever asks for one late gets none, and nobody has to say when it is over, which NCCL
// has been known to forget. Any thread may add one.
#pragma once

#include "trace/ring_memory.h"

namespace faultline::trace::nccl {

template <class Record, std::uint32_t capacity>
class NumberedRecords {
 public:
  /// The place of the next one, which `fill` writes; its number, from 1.
  template <class Fill>
  std::uint64_t add(const Fill& fill) {
    const std::uint64_t number = add_shared(count_, std::uint64_t{1}) + 1;
    Entry& entry = entries_[number % capacity];
    store_release(entry.number, 0);
    fill(entry.record);
    store_release(entry.number, number);
    return number;
  }
  /// Null if it is no longer there.
  Record* find(std::uint64_t number) {
    Entry& entry = entries_[number % capacity];
    return number != 0 && load_acquire(entry.number) == number ? &entry.record : nullptr;
  }

 private:
  struct Entry {
    std::uint64_t number;
    Record record;
  };
  std::uint64_t count_;
  Entry entries_[capacity];
};

}  // namespace faultline::trace::nccl
