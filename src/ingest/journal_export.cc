#include "ingest/journal_export.h"

#include <algorithm>

namespace faultline {
namespace {

constexpr std::size_t size_bytes = 8;
// journald refuses fields above 768 MiB; a larger size is no size.
constexpr std::uint64_t field_bytes_possible = std::uint64_t{1} << 30U;
constexpr std::size_t line_bytes_kept = journal_message_bytes_max + 64;  // and the name before it

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

void append_up_to(std::string& text, std::string_view bytes, std::size_t bytes_max) {
  if (text.size() < bytes_max) text += bytes.substr(0, bytes_max - text.size());
}

}  // namespace

JournalExportDecoder::JournalExportDecoder(const SystemDatabases& databases, const Origin& origin,
                                           Counters& counters, const DecoderLimits& limits)
    : counters_(counters), lines_(databases, origin, counters, limits) {}

std::vector<Event> JournalExportDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                              Instant now) {
  if (offset != at_ && in_record_) damaged();
  at_ = offset;
  while (!bytes.empty()) {
    const std::size_t taken = take(bytes, now);
    bytes.remove_prefix(taken);
    at_ += taken;
  }
  return lines_.take(now);
}

std::vector<Event> JournalExportDecoder::finish(Instant now) {
  // The last record has no empty line after it where the file was cut by lines.
  if (expect_ == Expect::line && line_.empty()) {
    end_record(now);
  } else if (in_record_) {
    damaged();
  }
  return lines_.finish(now);
}

/// How many of `bytes` it took; none only where it expects something else from then on.
std::size_t JournalExportDecoder::take(std::string_view bytes, Instant now) {
  switch (expect_) {
    case Expect::size: return take_size(bytes);
    case Expect::data: return take_data(bytes);
    case Expect::line_end: expect_ = Expect::line; return bytes.front() == '\n' ? 1 : 0;
    case Expect::line:
    case Expect::blank_line: break;
  }
  return take_line(bytes, now);
}

std::size_t JournalExportDecoder::take_line(std::string_view bytes, Instant now) {
  const auto end = bytes.find('\n');
  if (!in_record_ && bytes.front() != '\n') {
    in_record_ = true;
    record_.offset = at_;
  }
  append_up_to(line_, bytes.substr(0, end), line_bytes_kept);
  if (end == std::string_view::npos) return bytes.size();
  end_line(now);
  line_.clear();
  return end + 1;
}

void JournalExportDecoder::end_line(Instant now) {
  if (expect_ == Expect::blank_line) {  // after damage: the next record is the first to be believed
    if (!line_.empty()) return;
    expect_ = Expect::line;
    record_ = {};
    in_record_ = false;
    return;
  }
  if (line_.empty()) return end_record(now);
  const auto equals = line_.find('=');
  field_ = JournalRecord::field(std::string_view(line_).substr(0, equals));
  if (equals == std::string::npos) {
    expect_ = Expect::size;
  } else if (field_ != nullptr && (record_.*field_).empty()) {
    record_.*field_ = line_.substr(equals + 1);
  }
}

std::size_t JournalExportDecoder::take_size(std::string_view bytes) {
  const std::size_t taken = std::min(bytes.size(), size_bytes - size_.size());
  size_ += bytes.substr(0, taken);
  if (size_.size() < size_bytes) return taken;
  data_left_ = little_endian(size_);
  size_.clear();
  if (data_left_ > field_bytes_possible) {
    damaged();
  } else {
    expect_ = data_left_ == 0 ? Expect::line_end : Expect::data;
  }
  return taken;
}

std::size_t JournalExportDecoder::take_data(std::string_view bytes) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), data_left_));
  if (field_ != nullptr)
    append_up_to(record_.*field_, bytes.substr(0, taken), journal_message_bytes_max);
  data_left_ -= taken;
  if (data_left_ == 0) expect_ = Expect::line_end;
  return taken;
}

void JournalExportDecoder::end_record(Instant now) {
  if (!in_record_) return;
  counters_.add("ingest_journal_records_total");
  add_journal_record(record_, now, lines_, counters_);
  record_ = {};
  in_record_ = false;
}

void JournalExportDecoder::damaged() {
  counters_.add("ingest_journal_damaged_total");
  line_.clear();
  size_.clear();
  expect_ = Expect::blank_line;
}

}  // namespace faultline
