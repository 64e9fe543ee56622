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
#include "ingest/line_splitter.h"
#include "ingest/signature_database.h"
#include "model/event.h"

namespace faultline {

/// Where a log's bytes come from: what its lines leave unsaid.
struct Origin {
  /// kernel_log, job_log or scheduler; others give no events. A file that users can write lines
  /// into (`logger` writes any name into a syslog file) is no kernel log.
  EventSource source = EventSource::job_log;
  /// The node whose kernel, or rank, wrote the log; "" if the lines must say it. Of a log that many
  /// ranks wrote it is only where the log is read, and says nothing of where they ran.
  std::string node;
  /// `node` is taken from the name of a file: a line that names its host knows better.
  bool node_is_guess = false;
  /// Of kernel logs: drop and count what processes wrote into the kernel's buffer, and hear daemons
  /// of the node under their own names. An agent counts the first, since only root can write there
  /// and health checks do, and not the second; of a saved file nobody knows who wrote what, and
  /// people judge.
  bool facility_kernel_only = false;
  /// Names that this node has in its own logs. A kernel line of another host is then dropped and
  /// counted. Empty: any.
  std::vector<std::string> host_names = {};
  /// Becomes RawLine::path.
  std::string path;
  /// Of kernel logs, "" if not known.
  std::string boot_id;
  /// The attempt that wrote a job's log. Without one its subjects name job "unknown".
  std::optional<AttemptId> attempt;
  /// The rank that wrote it, -1 if many did.
  std::int32_t rank = -1;
  /// Names that may stand before ": " as a host; empty: whatever looks like a host name.
  std::vector<std::string> nodes;
  /// For kernel times, which count from boot; not known: such lines have no time.
  Instant boot_time;
  /// When the log was last written, for dates without a year; not known: `now` of feed().
  Instant last_written;
  /// Of printed times that do not say it: local time minus UTC.
  Duration utc_offset{0};
};

/// What one log may cost. A job decides what it prints, so there must be a limit.
struct DecoderLimits {
  /// Identical hits within it are one event (the window of the Delta study).
  Duration coalesce = std::chrono::seconds{5};
  /// The same where lines carry no time.
  std::size_t coalesce_lines = 1000;
  /// Above it only what is new in this minute of the receiver's, by signature, subject and rank.
  /// Whoever reads a whole log in one minute sets it higher.
  std::size_t events_per_minute_max = 200;
  /// Above it nothing: enough for one event of each rank of a large job.
  std::size_t pairs_per_minute_max = 4096;
  /// What is kept of a line.
  std::size_t line_bytes = line_bytes_max;
};

enum class LineChoice {
  all,
  /// Only lines that may hit a signature (line_filter.h) are taken apart: for job logs that are
  /// read in bulk. The others are counted nowhere, and where lines carry no time `coalesce_lines`
  /// counts those alone that may hit. Of kernel logs every line counts, so there it is as `all`.
  may_hit,
};

/// Not thread-safe; one for each log. The counters, and the catalog of which the database was made,
/// must outlive it.
///
/// Events: log_signature and gpu_identity as the catalog says; rank_started where NCCL's lines say
/// which GPU a rank runs on, at the latest with finish() (see nccl_init.h); source_gap with field
/// `why` = flood, binary or too_long, at most one a minute each, with fields `lines` and `bytes`.
/// `received_at` is left unknown.
///
/// Subject: as the signature's `subject` word says. Captures count before the line's own tags, and
/// those before the origin.
///   gpu      node and `bdf`, canonical; without `bdf` the rank, else the node
///   nic      node and `bdf`, else `dev`
///   link     node and `bdf`/`link`, or `dev`:`port`
///   switch   of a kernel log the node, since an NVSwitch sits in it (`bdf` says which); else `dev`
///   storage  `server`, else `target`, else the node
///   node     `hosts` (an event for each, up to 64), else `host`
///   rank     of the origin's attempt; several `tasks` are the attempt
///   job      the origin's; only where that is not known `jobid`. A job's log names no other job.
/// A kernel log with a known node speaks of that node alone, whatever its lines say; one whose node
/// nobody names speaks of node "unknown". A kernel line with an Xid or a PCI address that cannot be
/// is counted (ingest_impossible_hardware_total) and makes no event.
///
/// Rows of torchrun's failure table make one event for each process, at the row "traceback", with
/// the fields of the rows before it: `exit_code`, `pid`, `first_failure` (see launcher_table.h).
///
/// Fields: the captures, and where known `rank`, `host`, `kernel_us` (time since boot), `gpu_uuid`
/// and `gpu_serial` (from the driver's earlier lines about that GPU), `severity_code` and `data` of
/// an SXid's continuation lines, and `time_suspect` = "1" where a printed time lay more than a day
/// ahead or ten years back and was therefore ignored.
///
/// Times: observed_at is what the line says, on clock node_kernel (kernel's own), node_wall
/// (syslog, `faultline run`), scheduler (scheduler logs) or printed (a job's words); without one it
/// is unknown and the clock is `none`.
class LogDecoder {
 public:
  LogDecoder(std::shared_ptr<const SignatureDatabase> database, Origin origin, Counters& counters,
             DecoderLimits limits = {}, LineChoice choice = LineChoice::all);
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
