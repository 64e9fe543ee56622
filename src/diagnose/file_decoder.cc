#include "diagnose/file_decoder.h"

#include <utility>

#include "diagnose/name_hint.h"
#include "ingest/flight_recorder_events.h"
#include "ingest/log_decoder.h"

namespace faultline {
namespace {

/// A log is read whole within a minute, so its limits are those of a file and not of a minute.
constexpr DecoderLimits file_limits{std::chrono::seconds{5}, 1000, 20000, 65536};

Origin origin_of(const InputFile& file, EventSource source) {
  const NameHint hint = name_hint(file.name);
  Origin origin;
  origin.source = source;
  origin.path = file.name;
  origin.last_written = file.modified;
  if (source == EventSource::kernel_log) {
    origin.node = hint.node;
    return origin;
  }
  const std::string job = hint.job.empty() ? Subject::of_unnamed_job().attempt.job : hint.job;
  origin.attempt = AttemptId{job, 0};
  origin.rank = hint.rank;
  return origin;
}

/// Text that is read line by line.
class LogFile final : public FileDecoder {
 public:
  LogFile(std::shared_ptr<const SignatureDatabase> database, Origin origin, Counters& counters,
          Instant now)
      : decoder_(std::move(database), std::move(origin), counters, file_limits), now_(now) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) override {
    return decoder_.feed(bytes, offset, now_);
  }
  std::vector<Event> finish() override { return decoder_.finish(now_); }

 private:
  LogDecoder decoder_;
  Instant now_;
};

using DecodeDocument = Result<std::vector<Event>> (*)(std::string_view document, const Origin&,
                                                      Counters&);

/// What can only be understood as a whole.
class Document final : public FileDecoder {
 public:
  Document(DecodeDocument decode, Origin origin, Counters& counters)
      : decode_(decode), origin_(std::move(origin)), counters_(counters) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t /*offset*/) override {
    too_long_ = too_long_ || text_.size() + bytes.size() > document_bytes_max;
    if (!too_long_) text_ += bytes;
    return {};
  }
  std::vector<Event> finish() override {
    if (too_long_) {
      trouble_ = "is longer than " + std::to_string(document_bytes_max >> 20U) + " MiB";
      return {};
    }
    auto events = decode_(text_, origin_, counters_);
    if (events) return std::move(*events);
    trouble_ = events.error().message;
    return {};
  }
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  [[nodiscard]] std::string_view document() const override { return text_; }

 private:
  DecodeDocument decode_;
  Origin origin_;
  Counters& counters_;
  std::string text_;
  std::string trouble_;
  bool too_long_ = false;
};

std::unique_ptr<FileDecoder> log_file(EventSource source, const InputFile& file,
                                      const SignatureDatabases& databases, Counters& counters,
                                      Instant now) {
  const auto database = databases.find(source);
  if (database == databases.end()) return nullptr;
  return std::make_unique<LogFile>(database->second, origin_of(file, source), counters, now);
}

Result<std::vector<Event>> decode_flight_recorder(std::string_view document, const Origin& origin,
                                                  Counters& counters) {
  const auto dump = read_flight_recorder(document, counters);
  if (!dump) return dump.error();
  return flight_recorder_events(*dump, origin, counters);
}

}  // namespace

std::unique_ptr<FileDecoder> make_file_decoder(ContentKind kind, const InputFile& file,
                                               std::string_view /*head*/,
                                               const SignatureDatabases& databases,
                                               Counters& counters, Instant now) {
  switch (kind) {
    case ContentKind::kernel_log:
      return log_file(EventSource::kernel_log, file, databases, counters, now);
    case ContentKind::job_log:
      return log_file(EventSource::job_log, file, databases, counters, now);
    case ContentKind::scheduler_log:
      return log_file(EventSource::scheduler, file, databases, counters, now);
    case ContentKind::flight_recorder_pickle:
    case ContentKind::flight_recorder_json: {
      Origin origin = origin_of(file, EventSource::collective_trace);
      origin.rank = trailing_rank(file.name);
      return std::make_unique<Document>(decode_flight_recorder, std::move(origin), counters);
    }
    default: return nullptr;
  }
}

}  // namespace faultline
