#include "adapters/files/gzip_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace faultline {
namespace {

constexpr std::size_t packed_block_bytes = 256 * 1024;
constexpr int gzip_window_bits = 15 + 16;  // the largest window, in gzip's own frame

}  // namespace

GzipReader::GzipReader(InputReader& source, const std::string& name, Reading& reading)
    : UnpackedReader(name, reading), source_(source), packed_(packed_block_bytes) {
  FAULTLINE_CHECK(::inflateInit2(&stream_, gzip_window_bits) == Z_OK);
}

GzipReader::~GzipReader() { ::inflateEnd(&stream_); }

std::size_t GzipReader::unpack(std::span<char> into) {
  const std::size_t bytes = std::min<std::size_t>(into.size(), std::numeric_limits<uInt>::max());
  stream_.next_out = reinterpret_cast<Bytef*>(into.data());
  stream_.avail_out = static_cast<uInt>(bytes);
  while (!stopped() && !ended_ && stream_.avail_out > 0) {
    fill();
    if (stopped()) break;
    if (between_streams_) {
      begin_next_stream();
    } else {
      inflate_more();
    }
  }
  return bytes - stream_.avail_out;
}

void GzipReader::fill() {
  if (stream_.avail_in > 0 || source_ended_) return;
  const auto got = source_.read(packed_);
  if (!got.ok()) return source_failed(got.error());
  stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
  stream_.avail_in = static_cast<uInt>(*got);
  source_ended_ = *got == 0;
}

void GzipReader::inflate_more() {
  if (source_ended_ && stream_.avail_in == 0) return damaged("the gzip stream is cut off");
  const int code = ::inflate(&stream_, Z_NO_FLUSH);
  between_streams_ = code == Z_STREAM_END;
  if (code == Z_OK || code == Z_BUF_ERROR || code == Z_STREAM_END) return;
  damaged(fmt::format("the gzip stream is damaged: {}",
                      stream_.msg != nullptr ? stream_.msg : "zlib does not say how"));
}

/// Several streams in a row are one, as gzip has it; zeros fill up a block.
void GzipReader::begin_next_stream() {
  while (stream_.avail_in > 0 && *stream_.next_in == 0) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (stream_.avail_in == 0) {
    ended_ = source_ended_;
    return;
  }
  constexpr Bytef magic = 0x1f;
  if (*stream_.next_in != magic) return damaged("other bytes follow the gzip stream");
  ::inflateReset(&stream_);
  between_streams_ = false;
}

}  // namespace faultline
