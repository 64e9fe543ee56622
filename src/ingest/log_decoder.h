// Bytes of one log -> events. Everything the agent and `faultline diagnose` read as text goes
// through here: kernel logs in all their spellings, job logs, scheduler logs. Deterministic: it
// reads no clock, file or environment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "ingest/signature_database.h"
#include "model/event.h"

namespace faultline {

/// Where a log's bytes come from: what its lines leave unsaid.
struct Origin {
  EventSource source =
      EventSource::job_log;  // kernel_log, job_log or scheduler; others give no events
  std::string node;          // the node whose log it is, "" if the lines must say it
  std::string path;          // becomes RawLine::path
  std::string boot_id;       // of kernel logs, "" if not known
  std::optional<AttemptId>
      attempt;  // the attempt that wrote a job's log; without one its subjects name job "unknown"
  std::int32_t rank = -1;  // the rank that wrote it, -1 if many did
  std::vector<std::string>
      nodes;          // names that a "host: " tag may have; empty: whatever looks like a host name
  Instant boot_time;  // for kernel times that count from boot; not known: such lines have no time
  Instant reference;  // when the log was last written, for dates without a year; not known: `now`
                      // of feed()
  Duration utc_offset{0};  // of printed times that do not say it: local time minus UTC
};

/// What one log may cost. A job decides what it prints, so there must be a limit.
struct DecoderLimits {
  Duration coalesce =
      std::chrono::seconds{5};  // identical hits within it are one event (Delta study's window)
  std::size_t coalesce_lines = 1000;  // the same where lines carry no time
  std::size_t events_per_minute_max =
      200;  // above it only (signature, subject, rank) triples that are new in this minute
  std::size_t pairs_per_minute_max =
      4096;  // above it nothing: one event each for the ranks of a large job
};

/// Not thread-safe; one for each log. The catalog, the database and the counters must outlive it.
///
/// Events: log_signature and gpu_identity as the catalog says; source_gap with field `why` = flood,
/// binary or too_long, at most one a minute each, with fields `lines` and `bytes`. `received_at` is
/// left unknown.
///
/// Subject: as the signature's `subject` word says, with captures first, then the line's own tags,
/// then the origin:
///   gpu   node and `bdf`, canonical; without `bdf` the rank, else the node       nic   node and
///   `bdf` or `dev` link  node and `bdf`/`link`, or `dev`:`port` storage  `server`, else `target`
///   switch  of a kernel log: the node, since an NVSwitch sits in it (`bdf` says which one); else
///   `dev` rank, job  of the origin's attempt. A job's log never names another job. node  `host`,
///   the line's, the origin's
/// A kernel log with a known node speaks of that node alone, whatever its lines say.
///
/// Fields: the captures, and where known `rank`, `host`, `kernel_us` (time since boot), `gpu_uuid`
/// and `gpu_serial` (from the driver's earlier lines about that GPU), `severity_code` and `data` of
/// an SXid's continuation lines, and `time_suspect` = "1" where a printed time was further than ten
/// years off and was therefore ignored.
///
/// Times: observed_at is what the line says, on clock node_kernel (kernel's own), node_wall
/// (syslog, `faultline run`), scheduler (scheduler logs) or printed (a job's words); without one it
/// is unknown and the clock is `none`.
class LogDecoder {
 public:
  LogDecoder(const Catalog& catalog, std::shared_ptr<const SignatureDatabase> database,
             Origin origin, Counters& counters, DecoderLimits limits = {});
  ~LogDecoder();
  LogDecoder(LogDecoder&&) noexcept;
  LogDecoder& operator=(LogDecoder&&) noexcept;

  /// The events of `bytes`, in the order of their lines. `offset` is where the first byte lies in
  /// the log; a jump closes an unfinished line. Bytes may be cut anywhere; an unfinished line waits
  /// for its end. `now` is the receiver's time. No input makes it fail; memory does not grow with
  /// the input.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);

  /// The log ended, was rotated or rests: the unfinished line is taken as it is, and open counts
  /// are told. Feeding may go on afterwards.
  std::vector<Event> finish(Instant now);

  [[nodiscard]] const Origin& origin() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace faultline
