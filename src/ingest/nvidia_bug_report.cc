#include "ingest/nvidia_bug_report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/line_time.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t separator_bytes_min = 20;  // 44 in use
constexpr std::size_t title_bytes_max = 256;
constexpr std::size_t partial_bytes_max = std::size_t{64} << 10U;

bool is_separator(std::string_view line) {
  return line.size() >= separator_bytes_min &&
         line.find_first_not_of('_') == std::string_view::npos;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// "*** /var/log/kern.log", a file that was appended.
bool is_kernel_file(std::string_view title) {
  static constexpr std::array<std::string_view, 6> names = {"messages", "kern.log", "kernel.log",
                                                            "syslog",   "dmesg",    "boot.log"};
  if (!title.starts_with("*** /var/log/")) return false;
  return contains(names, file_name(title));
}

std::vector<std::string_view> words_of(std::string_view line) {
  auto words = split(line, ' ');
  std::erase(words, std::string_view{});
  return words;
}

/// "Mon Nov 16 10:22:31 UTC 2026" as ctime writes it, without the zone; "" for dates that a locale
/// writes otherwise.
std::string plain_date(const std::vector<std::string_view>& words) {
  if (words.size() != 6) return {};
  const std::string_view day = words[2];
  return std::string(words[0]) + " " + std::string(words[1]) + (day.size() == 1 ? "  " : " ") +
         std::string(day) + " " + std::string(words[3]) + " " + std::string(words[5]);
}

}  // namespace

NvidiaBugReportDecoder::NvidiaBugReportDecoder(
    std::shared_ptr<const SignatureDatabase> kernel_database, Origin origin, Counters& counters,
    const DecoderLimits& limits)
    : database_(std::move(kernel_database)),
      origin_(std::move(origin)),
      counters_(counters),
      limits_(limits) {
  origin_.source = EventSource::kernel_log;
}

std::vector<Event> NvidiaBugReportDecoder::feed(std::string_view bytes, std::uint64_t offset,
                                                Instant now) {
  if (partial_.empty()) at_ = offset;
  partial_ += bytes;
  auto end = partial_.rfind('\n');
  if (end == std::string::npos && partial_.size() >= partial_bytes_max) end = partial_.size() - 1;
  if (end != std::string::npos) {
    take_lines(std::string_view(partial_).substr(0, end + 1), now);
    partial_.erase(0, end + 1);
  }
  return std::exchange(events_, {});
}

std::vector<Event> NvidiaBugReportDecoder::finish(Instant now) {
  take_lines(partial_, now);
  partial_.clear();
  end_section(now);
  return std::exchange(events_, {});
}

/// Lines of one section go to its decoder together.
void NvidiaBugReportDecoder::take_lines(std::string_view bytes, Instant now) {
  std::size_t given = 0;
  std::size_t line_at = 0;
  const std::uint64_t start = at_;
  while (line_at < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', line_at), bytes.size() - 1) + 1;
    const std::string_view line = trim(bytes.substr(line_at, end - line_at));
    const Content before = content_;
    const bool boundary = is_separator(line) || title_may_follow_;
    if (boundary) {
      at_ = start + given;
      flush(bytes.substr(given, line_at - given), now);
      given = line_at;
    }
    take_line(line, now);
    if (content_ != before) given = end;  // a title is not part of what it heads
    line_at = end;
  }
  at_ = start + given;
  flush(bytes.substr(given), now);
  at_ = start + bytes.size();
}

void NvidiaBugReportDecoder::take_line(std::string_view line, Instant now) {
  const bool title = std::exchange(title_may_follow_, line.empty()) &&
                     line.size() <= title_bytes_max && !line.empty();
  if (is_separator(line)) {
    begin(Content::other, now);
    title_may_follow_ = true;
    return;
  }
  read_head(line);
  if (!title) return;
  const std::string_view command = file_name(line.substr(0, line.find(' ')));
  if (command == "nvidia-smi") {
    const bool report =
        line.find(" -q") != std::string::npos || line.find("--query") != std::string::npos;
    const bool other_form = line.find("unit") != std::string::npos ||
                            line.find("-x") != std::string::npos ||
                            line.find("--query-") != std::string::npos;
    begin(report && !other_form ? Content::gpus : Content::other, now);
  } else if (command == "dmesg" || command == "dmesg:" || command == "journalctl" ||
             is_kernel_file(line) || line.starts_with("Scanning kernel log files")) {
    begin(Content::kernel, now);
  }
}

/// "uname: Linux n3 5.15.0 ..." and "Date: Mon Nov 16 10:22:31 UTC 2026".
void NvidiaBugReportDecoder::read_head(std::string_view line) {
  if (line.starts_with("uname: ") && origin_.node.empty()) {
    const auto words = words_of(line);
    if (words.size() > 2 && valid_node_name(words[2])) origin_.node = words[2];
  }
  if (line.starts_with("Date: ") && !std::exchange(dated_, true)) {
    auto words = words_of(line);
    words.erase(words.begin());
    const std::string date = plain_date(words);
    const bool utc = words.size() == 6 && (words[4] == "UTC" || words[4] == "GMT");
    const TimeReference reference{{}, {}, utc ? Duration{0} : origin_.utc_offset};
    const Instant at = date.empty() ? Instant{} : resolve_time(TimeForm::ctime, date, reference).at;
    if (known(at)) origin_.last_written = at;
  }
}

void NvidiaBugReportDecoder::begin(Content content, Instant now) {
  end_section(now);
  content_ = content;
  if (content == Content::kernel && database_ != nullptr)
    kernel_ = std::make_unique<LogDecoder>(database_, origin_, counters_, limits_);
  if (content == Content::gpus) gpus_ = std::make_unique<NvidiaSmiTextDecoder>(origin_, counters_);
}

void NvidiaBugReportDecoder::end_section(Instant now) {
  if (kernel_ != nullptr) give(kernel_->finish(now));
  if (gpus_ != nullptr) give(gpus_->finish());
  kernel_.reset();
  gpus_.reset();
}

/// `bytes` lie at at_.
void NvidiaBugReportDecoder::flush(std::string_view bytes, Instant now) {
  if (bytes.empty()) return;
  if (kernel_ != nullptr) give(kernel_->feed(bytes, at_, now));
  if (gpus_ != nullptr) give(gpus_->feed(bytes, at_));
}

void NvidiaBugReportDecoder::give(std::vector<Event> events) {
  std::move(events.begin(), events.end(), std::back_inserter(events_));
}

}  // namespace faultline
