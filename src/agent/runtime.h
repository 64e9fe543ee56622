// The agent of one node, as a library: reads logs and GPUs, hears launchers, and brings what
// happened to the controller. One thread, one loop, no clock but the one it is given; the simulator
// and the tests run it in-process.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent_state.h"
#include "agent/gpu_watch.h"
#include "agent/launcher.h"
#include "agent/log_reader.h"
#include "agent/outbox.h"
#include "agent/ports.h"
#include "agent/rank_registry.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/file_lock.h"
#include "catalog/catalog.h"

namespace faultline {

struct AgentSettings {
  std::string node;
  std::string version;
  std::filesystem::path state;  // folder for spool, cursors and compiled signatures
  std::string boot_id;
  Instant boot_time;
  Duration utc_offset{0};
  /// Of this node in its kernel's lines; empty: any host is taken for it.
  std::vector<std::string> host_names;
  std::size_t logs_max = LogReader::Settings{}.logs_max;
  Spool::Limits spool;
  Outbox::Limits outbox;
  Duration poll_interval = std::chrono::milliseconds{250};  // of logs that cannot be waited for
  Duration gpu_interval = std::chrono::seconds{10};
  /// The loop stands still no longer than this for a sample.
  Duration gpu_wait = std::chrono::milliseconds{250};
  Duration no_gpu_interval = std::chrono::minutes{5};
  Duration job_log_scan = std::chrono::seconds{5};
  Duration cursor_save = std::chrono::seconds{5};
  Duration log_linger = std::chrono::seconds{30};  // a rank's log is read so long after its end
};

/// A job's log that somebody wants followed.
struct JobLog {
  std::string path;
  std::optional<std::uint32_t> owner;     // refuse the file if it is not this user's
  std::optional<std::uint64_t> start_at;  // where the attempt's lines begin; else the present end
};

/// Everything must outlive the runtime; what is optional may be null or empty.
struct AgentPorts {
  const Clock& clock;
  Uplink& uplink;
  GpuSampler* gpus = nullptr;
  ProcessTable* processes = nullptr;
  LauncherDoor* door = nullptr;
  std::function<std::unique_ptr<LogSource>(const JobLog&)> follow;
  /// What the site's own patterns match; nullopt if that could not be found out yet.
  std::function<std::optional<std::vector<std::string>>()> find_job_logs;
};

class AgentRuntime {
 public:
  /// unavailable if the state folder cannot be used, conflict if another agent uses it. A full disk
  /// is no reason: it is said, and events stay in memory.
  static Result<std::unique_ptr<AgentRuntime>> open(AgentSettings settings, AgentPorts ports,
                                                    const Catalog& catalog, Counters& counters);
  AgentRuntime(const AgentRuntime&) = delete;
  AgentRuntime& operator=(const AgentRuntime&) = delete;

  /// The kernel's log, or several. Before the first step.
  Status add_kernel_log(std::unique_ptr<LogSource> source);
  /// The scheduler's own log. Before the first step.
  Status add_scheduler_log(std::unique_ptr<LogSource> source);
  /// Takes the place in the job logs that are there: what is written from then on is news, also
  /// what is written before the first step. False if they could not be found yet.
  bool place_job_logs();
  /// From now on launchers are heard.
  void open_door(LauncherDoor& door) { ports_.door = &door; }
  /// One turn of the loop. How long nothing will be due, unless a descriptor becomes readable.
  Duration step();
  /// What to wait for between steps.
  [[nodiscard]] std::vector<int> wait_descriptors() const;
  /// Keeps and sends what there is, within `limit`.
  void stop(Duration limit);

 private:
  AgentRuntime(AgentSettings settings, AgentPorts ports, const Catalog& catalog, Counters& counters,
               FileLock lock, std::unique_ptr<Spool> spool, AgentState state);
  void introduce();
  void say_hello();
  void say_damage();
  [[nodiscard]] Event about_node(EventKind kind) const;
  void take(Event event);
  void link_to_attempt(Event& event);
  void link_to_gpu(Event& event) const;
  void hear_launchers();
  void hear(const LauncherPeer& peer, const LauncherMessage& message);
  void refuse(const LauncherPeer& peer, const AttemptId& attempt, const std::string& why);
  void rank_started(const LauncherPeer& peer, const LauncherMessage& message);
  void rank_exited(const LauncherMessage& message, RankRegistry::Rank& rank);
  void progress(EventKind kind, const LauncherMessage& message);
  void await_ruling(const LauncherPeer& peer, const AttemptId& attempt);
  void forget_connections();
  [[nodiscard]] Event about_rank(EventKind kind, const LauncherMessage& message) const;
  void pass_on_rulings();
  void look_at_gpus();
  void find_job_logs();
  void keep();
  void save_state();

  AgentSettings settings_;
  AgentPorts ports_;
  Counters& counters_;
  FileLock lock_;  // of the state folder
  std::unique_ptr<Spool> spool_;
  AgentState state_;
  Outbox outbox_;
  LogReader logs_;
  GpuWatch gpu_watch_;
  RankRegistry ranks_;
  std::map<AttemptId, std::deque<Uplink::Ruling>> rulings_;
  std::set<std::pair<AttemptId, std::uint64_t>> waiting_;  // connections that wait for a ruling
  std::set<std::string> seen_job_logs_;
  bool scanned_ = false;
  bool gpus_hang_ = false;
  bool no_gpus_ = false;
  bool unsaved_ = false;  // the state could not be written when last tried
  Duration gpus_due_{0};
  Duration scan_due_{0};
  Duration save_due_{0};
};

/// Runs the loop until `stop`, which a signal handler may set; `wake` is a descriptor that it also
/// makes readable.
void run_agent_loop(AgentRuntime& runtime, const std::atomic<bool>& stop, int wake);

}  // namespace faultline
