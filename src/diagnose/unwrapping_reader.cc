#include "diagnose/unwrapping_reader.h"

#include <algorithm>
#include <utility>

#include "ingest/content_kind.h"

namespace faultline {
namespace {

bool is_log(ContentKind kind) {
  return kind == ContentKind::job_log || kind == ContentKind::kernel_log ||
         kind == ContentKind::scheduler_log;
}

}  // namespace

Result<std::size_t> UnwrappingReader::read(std::span<char> into) {
  begin();
  while (unwrapper_ && given_ == ready_.size()) take_block();
  if (given_ == ready_.size()) return source_.read(into);
  const std::size_t bytes = std::min(into.size(), ready_.size() - given_);
  std::copy_n(ready_.data() + given_, bytes, into.data());
  given_ += bytes;
  return bytes;
}

void UnwrappingReader::begin() {
  if (std::exchange(begun_, true)) return;
  ready_.resize(content_head_bytes);
  std::size_t have = 0;
  while (have < ready_.size()) {
    const auto got = source_.read(std::span(ready_).subspan(have));
    if (!got.ok() || *got == 0) break;
    have += *got;
  }
  ready_.resize(have);
  auto wrapping = find_wrapping(ready_);
  if (!wrapping || !is_log(content_kind(ready_))) return;
  unwrapper_.emplace(std::move(*wrapping));
  std::swap(block_, ready_);
  unwrapper_->feed(block_, ready_);
}

void UnwrappingReader::take_block() {
  ready_.clear();
  given_ = 0;
  block_.resize(content_head_bytes);
  const auto got = source_.read(block_);
  if (got.ok() && *got > 0)
    return unwrapper_->feed(std::string_view(block_).substr(0, *got), ready_);
  unwrapper_->finish(ready_);  // an error comes again with the next read
  unwrapper_.reset();
}

}  // namespace faultline
