// A gzip stream, unpacked as far as it goes: of one that was cut, every byte before the cut counts,
// since the end of a log is where a job died. (libarchive drops up to its last 64 KiB.)
#pragma once

#include <zlib.h>

#include <string>
#include <vector>

#include "adapters/files/unpacked_reader.h"

namespace faultline {

class GzipReader final : public UnpackedReader {
 public:
  /// All must live as long as this; `name` is the packed stream's.
  GzipReader(InputReader& source, const std::string& name, Reading& reading);
  ~GzipReader() override;
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

 private:
  std::size_t unpack(std::span<char> into) override;
  void fill();
  void inflate_more();
  void begin_next_stream();

  InputReader& source_;
  z_stream stream_{};
  std::vector<char> packed_;
  bool source_ended_ = false;
  bool between_streams_ = false;
  bool ended_ = false;
};

}  // namespace faultline
