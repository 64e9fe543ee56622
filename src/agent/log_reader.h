// All logs that the agent reads, each with its decoder: bytes in, events out, cursors kept.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent_state.h"
#include "agent/notices.h"
#include "agent/ports.h"
#include "base/clock.h"
#include "base/counters.h"
#include "catalog/catalog.h"
#include "ingest/log_decoder.h"

namespace faultline {

class LogReader {
 public:
  struct Settings {
    std::string node;
    std::string boot_id;
    Instant boot_time;
    Duration utc_offset{0};
    std::filesystem::path cache;  // of compiled signatures
    /// Of this node in its kernel's lines; empty: any host is taken for it.
    std::vector<std::string> host_names = {};
    std::size_t logs_max = 512;
    /// Of one log: a flood takes its turn like the others.
    std::size_t bytes_per_poll_max = 256 * 1024;
    /// A log that is over is kept so long for a mount to come back.
    Duration unread_max = std::chrono::hours{1};
    /// It is read on for so long after it could be read again.
    Duration late_answer = std::chrono::seconds{5};
    /// After so much silence an unfinished line is taken as it is.
    Duration rest = std::chrono::seconds{2};
    /// Between two lines of a kind about one log.
    Duration notice_interval = std::chrono::minutes{10};
    /// Of one log that can be read by turns and cannot.
    Duration complaint_interval = std::chrono::minutes{1};
  };
  using Sink = std::function<void(Event)>;

  LogReader(Settings settings, const Catalog& catalog, AgentState& state, const Clock& clock,
            Counters& counters);

  /// Follows a log, from its kept cursor if it has one, else from its present end. Reads nothing of
  /// it yet and needs no signatures. A path that is followed already is replaced; what it had left
  /// is read first and goes to `sink`.
  Status add(std::unique_ptr<LogSource> source, EventSource kind,
             const std::optional<AttemptId>& attempt, std::int32_t rank, const Sink& sink);
  /// Reads on in every log. True if one of them has more at once.
  bool poll(const Sink& sink);
  /// Reads one log to its present end.
  void drain(const std::string& path, const Sink& sink);
  /// Stops following after `linger`: the last lines of a dead process come late.
  void remove_later(const std::string& path, Duration linger);
  /// Hands the cursors to the state. Only right after the events so far are kept.
  void keep_cursors();

  [[nodiscard]] bool follows(const std::string& path) const { return logs_.contains(path); }
  [[nodiscard]] std::vector<int> wait_descriptors() const;
  /// True if a log has no descriptor to wait for.
  [[nodiscard]] bool must_poll() const;

 private:
  struct Log {
    std::unique_ptr<LogSource> source;
    Origin origin;
    std::optional<LogDecoder> decoder = {};  // none before the first read
    std::string incarnation = {};
    bool fed = false;  // since the decoder was last finished
    Notices notices;   // of what was lost, not of what cannot be read
    Duration last_bytes{0};
    std::string incarnation_before = {};
    bool failing = false;     // the last poll did
    bool complained = false;  // and it was said
    std::optional<Duration> complained_at = {};
    std::optional<Duration> remove_at = {};
    std::optional<Duration> waiting_since = {};
    Instant oldest_stale = {};
    Instant stale_before = {};  // what is older than that is no news
  };

  const Result<std::shared_ptr<const SignatureDatabase>>& database(EventSource kind);
  [[nodiscard]] Origin origin_of(const std::string& path, EventSource kind,
                                 const std::optional<AttemptId>& attempt, std::int32_t rank) const;
  Status prepare(Log& log);
  bool poll_one(Log& log, const Sink& sink);
  bool read(Log& log, std::size_t bytes_max, const Sink& sink);
  void finish(Log& log, const Sink& sink);
  [[nodiscard]] bool over(Log& log, bool has_more, const Sink& sink);
  void say_unread(Log& log, const Sink& sink);
  void take_chunk(Log& log, const Chunk& chunk, const Sink& sink);
  void give(Log& log, std::vector<Event> events, const Sink& sink);
  [[nodiscard]] std::optional<Instant> stale(const Log& log, const Event& event) const;
  void drop_stale(Log& log, std::vector<Event>& events);
  [[nodiscard]] std::string text_of_stale(const Log& log) const;
  void say_gap(Log& log, GapReason why, std::uint64_t offset, const Sink& sink) const;
  void pass_on(Log& log, Event event, const Sink& sink) const;
  void say(const Log& log, const std::vector<Notices::Due>& notices) const;
  void failed(Log& log, const Error& error, const Sink& sink);
  void complain(Log& log, const Error& error, const Sink& sink);
  void recovered(Log& log);
  void count_unreadable();

  Settings settings_;
  const Catalog& catalog_;
  AgentState& state_;
  const Clock& clock_;
  Counters& counters_;
  std::map<EventSource, Result<std::shared_ptr<const SignatureDatabase>>> databases_;
  std::map<std::string, Log> logs_;
};

}  // namespace faultline
