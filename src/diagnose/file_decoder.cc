#include "diagnose/file_decoder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "diagnose/name_hint.h"
#include "diagnose/traceback_frames.h"
#include "diagnose/training_watch.h"
#include "ingest/bmc_events.h"
#include "ingest/boot_records.h"
#include "ingest/dmesg_json.h"
#include "ingest/flight_recorder_events.h"
#include "ingest/ib_state.h"
#include "ingest/journal_export.h"
#include "ingest/journal_json.h"
#include "ingest/kubernetes_objects.h"
#include "ingest/log_decoder.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_ras_json.h"
#include "ingest/nccl_ras_text.h"
#include "ingest/nvidia_bug_report.h"
#include "ingest/nvidia_smi_text.h"
#include "ingest/nvidia_smi_xml.h"
#include "ingest/nvlink_state.h"
#include "ingest/redfish_log.h"
#include "ingest/scontrol_show.h"
#include "ingest/sinfo_reasons.h"
#include "ingest/slurm_accounting.h"
#include "ingest/slurm_nodes_json.h"

namespace faultline {

bool written_by_slurmd(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.find("slurmd") != std::string_view::npos &&
         name.find("slurmdbd") == std::string_view::npos;
}

Origin origin_of(const InputFile& file, EventSource source, std::string_view head) {
  NameHint hint = name_hint(file.name);
  if (source == EventSource::job_log) learn_from_submitit_line(head, hint);
  Origin origin;
  origin.source = source;
  origin.path = file.name;
  origin.last_written = file.modified;
  if (source == EventSource::kernel_log) {
    origin.node = file.prompt_host.empty() ? hint.node : file.prompt_host;
    origin.node_is_guess = true;
    origin.facility_kernel_only = true;
    return origin;
  }
  const std::string job = hint.job.empty() ? Subject::of_unnamed_job().attempt.job : hint.job;
  origin.attempt = AttemptId{job, 0};
  origin.rank = hint.rank;
  const bool of_daemon = source == EventSource::scheduler && written_by_slurmd(file.name);
  if (of_daemon || (source == EventSource::job_log && hint.written_by_task)) {
    origin.node = hint.node;
    origin.node_is_guess = true;
  }
  if (source == EventSource::job_log && !file.prompt_host.empty()) {
    origin.node = file.prompt_host;
    origin.node_is_guess = true;
  }
  return origin;
}

namespace {

/// A log is read whole within a minute, so its limits are those of a file and not of a minute; and
/// what a line ends with may be what matters.
constexpr DecoderLimits file_limits{.coalesce = std::chrono::seconds{5},
                                    .coalesce_lines = 1000,
                                    .events_per_minute_max = 20'000,
                                    .pairs_per_minute_max = 65'536,
                                    .line_bytes = file_line_bytes_max};

/// A decoder that takes bytes as they come, and the time at which they are read.
template <class Decoder>
class Stream final : public FileDecoder {
 public:
  Stream(Decoder decoder, Instant now) : decoder_(std::move(decoder)), now_(now) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) override {
    if constexpr (requires { decoder_.feed(bytes, offset, now_); }) {
      return decoder_.feed(bytes, offset, now_);
    } else if constexpr (std::is_void_v<decltype(decoder_.feed(bytes, offset))>) {
      decoder_.feed(bytes, offset);
      return {};
    } else {
      return decoder_.feed(bytes, offset);
    }
  }
  std::vector<Event> finish() override {
    if constexpr (requires { decoder_.finish(now_); }) {
      return decoder_.finish(now_);
    } else {
      return decoder_.finish();
    }
  }

 private:
  Decoder decoder_;
  Instant now_;
};

template <class Decoder>
std::unique_ptr<FileDecoder> stream(Decoder decoder, Instant now) {
  return std::make_unique<Stream<Decoder>>(std::move(decoder), now);
}

using DecodeDocument =
    std::function<Result<std::vector<Event>>(std::string_view, const Origin&, Counters&)>;

/// What can only be understood as a whole.
class Document final : public FileDecoder {
 public:
  Document(DecodeDocument decode, Origin origin, Counters& counters)
      : decode_(std::move(decode)), origin_(std::move(origin)), counters_(counters) {}

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
    if (events) return std::move(events).value();
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

std::unique_ptr<FileDecoder> log_file(Origin origin, const LogDatabases& databases,
                                      Counters& counters, Instant now) {
  auto database = databases.of(origin.source);
  if (database == nullptr) return nullptr;
  return stream(LogDecoder(std::move(database), std::move(origin), counters, file_limits,
                           LineChoice::may_hit),
                now);
}

/// Whose a kernel's lines are that stand among words of others nobody knows, so they accuse no
/// node; but that nothing is wrong they leave no one to say.
void count_pasted_faults(const InputFile& file, std::string_view head,
                         const LogDatabases& databases, Counters& counters, Instant now) {
  const std::string pasted = pasted_kernel_lines(head);
  auto database = pasted.empty() ? nullptr : databases.of(EventSource::kernel_log);
  if (database == nullptr) return;
  Counters of_kernel;  // what it counts is no loss of the file's
  LogDecoder decoder(std::move(database), origin_of(file, EventSource::kernel_log, head), of_kernel,
                     file_limits);
  auto events = decoder.feed(pasted, 0, now);
  std::ranges::move(decoder.finish(now), std::back_inserter(events));
  const auto faults = std::ranges::count_if(events, [&](const Event& event) {
    const Signature* signature = databases.catalog().signature(event.signature);
    return signature != nullptr && signature->role == Role::root &&
           signature->strength != Strength::lead;
  });
  counters.add(pasted_faults_counter, static_cast<std::uint64_t>(faults));
}

std::unique_ptr<FileDecoder> job_log(const Origin& origin, const LogDatabases& databases,
                                     Counters& counters, Instant now) {
  auto log = log_file(origin, databases, counters, now);
  if (log == nullptr) return nullptr;
  return std::make_unique<TracebackFrames>(
      std::make_unique<TrainingWatch>(std::move(log), origin, databases.catalog(), now));
}

Result<std::vector<Event>> decode_flight_recorder(std::string_view document, const Origin& origin,
                                                  Counters& counters) {
  const auto dump = read_flight_recorder(document, counters);
  if (!dump) return dump.error();
  return flight_recorder_events(*dump, origin, counters);
}

Result<std::vector<Event>> decode_smi_xml(std::string_view text, const Origin& origin,
                                          Counters& counters) {
  return decode_nvidia_smi_xml(text, origin, counters);
}

/// Which ports are not active says something of each other.
DecodeDocument decode_ib_state(const SystemDatabases& databases, Instant now) {
  return [databases, now](std::string_view text, const Origin& origin,
                          Counters& counters) -> Result<std::vector<Event>> {
    IbStateDecoder decoder(databases, origin, counters, file_limits);
    std::vector<Event> events = decoder.feed(text, 0, now);
    std::vector<Event> last = decoder.finish(now);
    std::move(last.begin(), last.end(), std::back_inserter(events));
    return events;
  };
}

DecodeDocument redfish_log(const SystemDatabases& databases, Instant now) {
  return [databases, now](std::string_view text, const Origin& origin, Counters& counters) {
    return decode_redfish_log(text, origin, counters, databases, now);
  };
}

/// For documents whose texts (a node's reason, a pod's event) may hit a signature.
template <class Decode>
DecodeDocument with_signatures(Decode decode, const LogDatabases& databases) {
  return [decode, signatures = databases.of(EventSource::scheduler)](
             std::string_view text, const Origin& origin, Counters& counters) {
    return decode(text, origin, counters, signatures);
  };
}

std::unique_ptr<FileDecoder> document(DecodeDocument decode, Origin origin, Counters& counters) {
  return std::make_unique<Document>(std::move(decode), std::move(origin), counters);
}

}  // namespace

std::unique_ptr<FileDecoder> make_file_decoder(ContentKind kind, const InputFile& file,
                                               std::string_view head, const LogDatabases& databases,
                                               Counters& counters, Instant now) {
  const Origin node = origin_of(file, EventSource::kernel_log, head);
  const Origin answer = origin_of(file, EventSource::scheduler, head);
  const Origin trace = origin_of(file, EventSource::collective_trace, head);
  switch (kind) {
    case ContentKind::kernel_log: return log_file(node, databases, counters, now);
    case ContentKind::job_log:
      count_pasted_faults(file, head, databases, counters, now);
      return job_log(origin_of(file, EventSource::job_log, head), databases, counters, now);
    case ContentKind::scheduler_log: return log_file(answer, databases, counters, now);
    case ContentKind::flight_recorder_pickle:
    case ContentKind::flight_recorder_json: {
      Origin dump = trace;
      dump.rank = file.number_among_siblings;
      if (dump.rank < 0) dump.rank = trailing_rank(file.name);
      return document(decode_flight_recorder, std::move(dump), counters);
    }
    case ContentKind::journal_json:
      return stream(JournalJsonDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::journal_export:
      return stream(JournalExportDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::dmesg_json:
      return stream(DmesgJsonDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::nvidia_smi_text: return stream(NvidiaSmiTextDecoder(node, counters), now);
    case ContentKind::nvidia_smi_xml: return document(decode_smi_xml, node, counters);
    case ContentKind::nvidia_bug_report:
      return stream(NvidiaBugReportDecoder(databases.of(EventSource::kernel_log), node, counters,
                                           file_limits),
                    now);
    case ContentKind::nvlink_state:
      return stream(NvlinkStateDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::ib_state:
      return document(decode_ib_state(databases.of_system(), now), node, counters);
    case ContentKind::bmc_events:
      return stream(BmcEventDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::boot_records:
      return stream(BootRecordsDecoder(databases.of_system(), node, counters, file_limits), now);
    case ContentKind::redfish_log:
      return document(redfish_log(databases.of_system(), now), node, counters);
    case ContentKind::nccl_inspector: return stream(NcclInspectorDecoder(trace, counters), now);
    case ContentKind::nccl_ras_json: return stream(NcclRasJsonDecoder(trace, counters), now);
    case ContentKind::nccl_ras_text: return stream(NcclRasTextDecoder(trace, counters), now);
    case ContentKind::sacct_parsable: return document(decode_slurm_accounting, answer, counters);
    case ContentKind::sacct_json: return document(decode_slurm_accounting_json, answer, counters);
    case ContentKind::slurm_nodes_json:
      return document(with_signatures(decode_slurm_nodes_json, databases), answer, counters);
    case ContentKind::scontrol_show:
      return document(with_signatures(decode_scontrol_show, databases), answer, counters);
    case ContentKind::sinfo_reasons:
      return document(with_signatures(decode_sinfo_reasons, databases), answer, counters);
    case ContentKind::kubernetes_json:
      return document(with_signatures(decode_kubernetes_json, databases), answer, counters);
    case ContentKind::kubernetes_yaml:
      return document(with_signatures(decode_kubernetes_yaml, databases), answer, counters);
    case ContentKind::kubernetes_text:
      return document(with_signatures(decode_kubernetes_text, databases), answer, counters);
    case ContentKind::empty:
    case ContentKind::binary:
    case ContentKind::program: break;
  }
  return nullptr;
}

}  // namespace faultline
