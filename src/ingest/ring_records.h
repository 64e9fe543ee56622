// Records of a file that somebody writes meanwhile: each read until it is the same twice.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/counter_values.h"
#include "ingest/ring_reader.h"

namespace faultline {

template <class Record>
struct RingRecord {
  Record value;
  bool torn = false;
};

class RingRecords {
 public:
  explicit RingRecords(RingBytes& bytes) : bytes_(bytes) {}

  /// As many of `count` records as the file holds. Counts torn and missing_records.
  template <class Record>
  std::vector<RingRecord<Record>> read(std::uint64_t offset, std::uint32_t count) {
    std::vector<Record> first(count);
    std::vector<Record> second(count);
    const std::size_t had = bytes_.read(offset, std::as_writable_bytes(std::span(first)));
    const std::size_t have = bytes_.read(offset, std::as_writable_bytes(std::span(second)));
    const std::size_t whole = std::min({had, have, count * sizeof(Record)}) / sizeof(Record);
    if (whole < count) problems_["missing_records"] += count - whole;
    std::vector<RingRecord<Record>> records;
    records.reserve(whole);
    for (std::size_t i = 0; i < whole; ++i) {
      RingRecord<Record> record{second[i]};
      record.torn =
          !same(first[i], second[i]) && !settle(offset + i * sizeof(Record), record.value);
      if (record.torn) ++problems_["torn"];
      records.push_back(record);
    }
    return records;
  }

  [[nodiscard]] const CounterValues& problems() const { return problems_; }

 private:
  template <class Record>
  static bool same(const Record& one, const Record& other) {
    return std::memcmp(&one, &other, sizeof(Record)) == 0;
  }

  template <class Record>
  bool settle(std::uint64_t offset, Record& value) {
    for (int tries = 0; tries < ring_read_tries_max; ++tries) {
      Record again = value;
      if (bytes_.read(offset, std::as_writable_bytes(std::span(&again, 1))) != sizeof(Record))
        return false;
      const bool settled = same(value, again);
      value = again;
      if (settled) return true;
    }
    return false;
  }

  RingBytes& bytes_;
  CounterValues problems_;
};

}  // namespace faultline
