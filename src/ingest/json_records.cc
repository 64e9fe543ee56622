#include "ingest/json_records.h"

#include <algorithm>

namespace faultline {

void JsonRecords::feed(std::string_view bytes, std::uint64_t offset, const Sink& sink) {
  if (offset != next_offset_) drop();
  next_offset_ = offset + bytes.size();
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (in_text_ && !escaped_) {  // most bytes are inside a string: they go together
      const std::size_t stop = std::min(bytes.find_first_of("\"\\\n", at), bytes.size());
      keep(bytes.substr(at, stop - at));
      at = stop;
      if (at == bytes.size()) break;
    }
    take(bytes[at], offset + at, sink);
    line_start_ = bytes[at] == '\n';
    ++at;
  }
}

void JsonRecords::finish() { drop(); }

void JsonRecords::take(char c, std::uint64_t offset, const Sink& sink) {
  if (in_text_ && c == '\n') {  // JSON writes it as \n: the writer was cut off here
    drop();
    return;
  }
  // An object that is indented has its inner braces further to the right.
  if (c == '{' && !in_text_ && line_start_ && open_braces_ > 0) drop();
  if (c == '{' && !in_text_) {
    if (open_braces_ == 0 || depth_ == Depth::innermost) open(offset);
    ++open_braces_;
  }
  keep({&c, 1});
  if (in_text_) {
    in_text_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
  } else if (c == '"') {
    in_text_ = open_braces_ > 0;
  } else if (c == '}' && open_braces_ > 0) {
    --open_braces_;
    if (recording_ && (open_braces_ == 0 || depth_ == Depth::innermost)) close(sink);
  }
}

void JsonRecords::keep(std::string_view bytes) {
  if (!recording_ || overflowed_) return;
  overflowed_ = record_.size() + bytes.size() > bytes_max_;
  if (!overflowed_) record_.append(bytes);
}

void JsonRecords::open(std::uint64_t offset) {
  record_.clear();
  record_offset_ = offset;
  recording_ = true;
  overflowed_ = false;
}

void JsonRecords::close(const Sink& sink) {
  recording_ = false;
  if (overflowed_) {
    ++totals_.too_long;
  } else {
    sink(record_, record_offset_);
  }
}

void JsonRecords::drop() {
  if (recording_) ++totals_.broken;
  recording_ = in_text_ = escaped_ = false;
  open_braces_ = 0;
}

}  // namespace faultline
