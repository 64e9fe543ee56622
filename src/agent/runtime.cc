#include "agent/runtime.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "agent/log_name.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t attempts_with_rulings_max = 256;
constexpr std::size_t rulings_per_attempt_max = 16;
constexpr std::size_t seen_job_logs_max = 65536;
constexpr Duration ruling_interval = std::chrono::milliseconds{100};  // while somebody waits

/// Two agents in one folder would send each other's events and lose each other's places.
Result<FileLock> lock_folder(const std::filesystem::path& folder) {
  std::error_code ignored;  // a folder that cannot be made shows at the lock
  std::filesystem::create_directories(folder, ignored);
  auto lock = FileLock::take(folder / "lock", false);
  if (lock.ok() || lock.error().code != ErrorCode::unavailable) return lock;
  return Error{
      ErrorCode::conflict,
      folder.string() +
          " is in use by another `faultline agent`; stop it, or give this one a --state of "
          "its own"};
}

}  // namespace

Result<std::unique_ptr<AgentRuntime>> AgentRuntime::open(AgentSettings settings, AgentPorts ports,
                                                         const Catalog& catalog,
                                                         Counters& counters) {
  auto lock = lock_folder(settings.state);
  if (!lock.ok()) return lock.error();
  auto spool = Spool::open(settings.state / "spool", settings.spool, counters);
  if (!spool.ok()) return spool.error().with_context("state folder");
  AgentState state =
      AgentState::load(settings.state / "state.json", settings.boot_id, ports.clock.now());
  std::unique_ptr<AgentRuntime> runtime(
      new AgentRuntime(std::move(settings), std::move(ports), catalog, counters,
                       std::move(lock).value(), std::move(spool).value(), std::move(state)));
  runtime->introduce();
  runtime->save_state();  // a first start is remembered, unless the disk is full: that stops nobody
  runtime->say_hello();
  return runtime;
}

AgentRuntime::AgentRuntime(AgentSettings settings, AgentPorts ports, const Catalog& catalog,
                           Counters& counters, FileLock lock, std::unique_ptr<Spool> spool,
                           AgentState state)
    : settings_(std::move(settings)),
      ports_(std::move(ports)),
      counters_(counters),
      lock_(std::move(lock)),
      spool_(std::move(spool)),
      state_(std::move(state)),
      outbox_(settings_.node, *spool_, ports_.uplink, ports_.clock, counters, settings_.outbox),
      logs_({settings_.node, settings_.boot_id, settings_.boot_time, settings_.utc_offset,
             settings_.state / "signatures", settings_.host_names, settings_.logs_max},
            catalog, state_, ports_.clock, counters),
      gpu_watch_(settings_.node) {}

/// When a state folder was first used tells it from any other.
void AgentRuntime::introduce() {
  const auto& hosts = settings_.host_names;
  ports_.uplink.introduce({hosts.empty() ? settings_.node : hosts.back(), settings_.boot_id,
                           to_text(state_.first_start())});
}

Event AgentRuntime::about_node(EventKind kind) const {
  Event event;
  event.source = EventSource::agent;
  event.kind = kind;
  event.subject = Subject::of_node(settings_.node);
  event.observed_at = ports_.clock.now();
  event.clock = ClockDomain::node_wall;
  return event;
}

void AgentRuntime::say_hello() {
  Event started = about_node(EventKind::agent_started);
  started.fields = {{"version", settings_.version},
                    {"boot_id", settings_.boot_id},
                    {"first_start", to_text(state_.first_start())}};
  outbox_.add(std::move(started));
  if (!state_.damage().empty()) say_damage();
  if (!state_.new_boot()) return;
  Event boot = about_node(EventKind::node_boot);
  if (known(settings_.boot_time)) boot.observed_at = settings_.boot_time;
  boot.fields = {{"boot_id", settings_.boot_id}, {"boot_time", to_text(settings_.boot_time)}};
  outbox_.add(std::move(boot));
}

void AgentRuntime::say_damage() {
  const std::string file = (settings_.state / "state.json").string();
  counters_.add("agent_state_damaged_total");
  spdlog::warn(
      "{}: {}; how far the logs were read is lost: they are followed from their present end", file,
      state_.damage());
  Event gap = about_node(EventKind::source_gap);
  gap.fields = {{"why", std::string(to_text(GapReason::state_damaged))},
                {"log", printable(file, 1000)}};
  outbox_.add(std::move(gap));
}

Status AgentRuntime::add_kernel_log(std::unique_ptr<LogSource> source) {
  return logs_.add(std::move(source), EventSource::kernel_log, std::nullopt, -1,
                   [this](Event event) { take(std::move(event)); });
}

Status AgentRuntime::add_scheduler_log(std::unique_ptr<LogSource> source) {
  return logs_.add(std::move(source), EventSource::scheduler, std::nullopt, -1,
                   [this](Event event) { take(std::move(event)); });
}

// --- events

void AgentRuntime::take(Event event) {
  link_to_attempt(event);
  link_to_gpu(event);
  outbox_.add(std::move(event));
}

/// The kernel names a process; which job that was, only this node can say, and only now.
void AgentRuntime::link_to_attempt(Event& event) {
  if (event.source != EventSource::kernel_log || event.attempt) return;
  const auto pid = parse_number<std::int64_t>(event.field("pid"));
  if (!pid || *pid <= 0) return;
  std::optional<AttemptId> attempt = ranks_.attempt_of_pid(*pid);
  if (!attempt && ports_.processes != nullptr) {
    const auto origin = ports_.processes->origin(*pid);
    if (origin && valid_job_id(origin->job)) {
      attempt = ranks_.attempt_of_job(origin->job);
      if (!attempt) attempt = AttemptId{origin->job, origin->restart};
    }
  }
  if (!attempt) return;
  event.attempt = *attempt;
  event.fields["linked_job"] = attempt->job;
}

void AgentRuntime::link_to_gpu(Event& event) const {
  if (event.subject.kind != SubjectKind::gpu) return;
  const GpuWatch::Identity* identity = gpu_watch_.identity(event.subject.part);
  if (identity == nullptr) return;
  if (!identity->uuid.empty()) event.fields.try_emplace("gpu_uuid", printable(identity->uuid, 96));
  if (!identity->serial.empty())
    event.fields.try_emplace("gpu_serial", printable(identity->serial, 64));
}

// --- launchers

void AgentRuntime::hear_launchers() {
  if (ports_.door == nullptr) return;
  for (LauncherDoor::Arrival& arrival : ports_.door->poll()) {
    if (arrival.message.ok()) {
      hear(arrival.peer, arrival.message.value());
    } else {
      refuse(arrival.peer, {}, arrival.message.error().message);
    }
  }
  forget_connections();
}

void AgentRuntime::hear(const LauncherPeer& peer, const LauncherMessage& message) {
  const auto origin =
      ports_.processes == nullptr ? std::nullopt : ports_.processes->origin(peer.pid);
  if (const std::string why = ranks_.refusal(peer, message.attempt.job, origin); !why.empty()) {
    refuse(peer, message.attempt, why);
    return;
  }
  if (message.verb == LauncherVerb::rank_started) {
    rank_started(peer, message);
    return;
  }
  // Everything else is about a rank that this user has announced.
  RankRegistry::Rank* rank = ranks_.find(message.attempt, message.rank);
  if (rank == nullptr || rank->uid != peer.uid) {
    refuse(peer, message.attempt, "rank was not announced");
    return;
  }
  switch (message.verb) {
    case LauncherVerb::rank_started: break;
    case LauncherVerb::rank_exited: rank_exited(message, *rank); break;
    case LauncherVerb::progress_stalled: progress(EventKind::progress_stalled, message); break;
    case LauncherVerb::progress_resumed: progress(EventKind::progress_resumed, message); break;
    case LauncherVerb::await_ruling: await_ruling(peer, message.attempt); break;
  }
}

void AgentRuntime::refuse(const LauncherPeer& peer, const AttemptId& attempt,
                          const std::string& why) {
  counters_.add("agent_launcher_refusals_total");
  spdlog::debug("launcher (pid {}, user {}): {}", peer.pid, peer.uid, why);
  ports_.door->reply(peer.connection, {LauncherReply::Kind::refused, attempt, false, why});
}

Event AgentRuntime::about_rank(EventKind kind, const LauncherMessage& message) const {
  Event event;
  event.source = EventSource::launcher;
  event.kind = kind;
  event.subject = Subject::of_rank(message.attempt, message.rank, settings_.node);
  event.attempt = message.attempt;
  event.observed_at = message.at;
  event.clock = ClockDomain::node_wall;
  return event;
}

void AgentRuntime::rank_started(const LauncherPeer& peer, const LauncherMessage& message) {
  const bool fresh = ranks_.add(peer, message);
  if (!fresh) return;
  Event event = about_rank(EventKind::rank_started, message);
  event.fields = {{"local_rank", std::to_string(message.local_rank)},
                  {"pid", std::to_string(message.pid)},
                  {"world", std::to_string(message.world)},
                  {"log", printable(message.log, field_bytes_max)},
                  {"gpus", printable(join(message.gpus, ","), field_bytes_max)}};
  outbox_.add(std::move(event));
  if (message.log.empty() || !ports_.follow) return;
  seen_job_logs_.insert(message.log);
  JobLog log{message.log, peer.uid, message.log_start};
  // What this rank wrote before us may have been told: where we were is lost.
  if (!state_.damage().empty() && message.at < state_.first_start()) log.start_at.reset();
  const Status followed = logs_.add(ports_.follow(log), EventSource::job_log, message.attempt,
                                    message.rank, [this](Event line) { take(std::move(line)); });
  if (!followed.ok())
    spdlog::warn("log of {} rank {}: {}", message.attempt.text(), message.rank,
                 followed.error().message);
}

void AgentRuntime::rank_exited(const LauncherMessage& message, RankRegistry::Rank& rank) {
  if (std::exchange(rank.exited, true)) return;
  if (!rank.log.empty()) {
    // Its last lines say why it died; they belong before the news that it did.
    logs_.drain(rank.log, [this](Event line) { take(std::move(line)); });
    logs_.remove_later(rank.log, settings_.log_linger);
  }
  Event event = about_rank(EventKind::rank_exited, message);
  if (message.exit_code) event.fields["exit_code"] = std::to_string(*message.exit_code);
  if (message.signal) event.fields["signal"] = std::to_string(*message.signal);
  if (message.core_dumped) event.fields["core_dumped"] = "1";
  if (message.step) event.fields["step"] = std::to_string(*message.step);
  if (message.last_line) event.fields["last_line"] = *message.last_line;
  event.fields["pid"] = std::to_string(rank.pid);
  outbox_.add(std::move(event));
}

void AgentRuntime::progress(EventKind kind, const LauncherMessage& message) {
  const auto ms = [](Duration duration) {
    return std::to_string(duration / std::chrono::milliseconds{1});
  };
  Event event = about_rank(kind, message);
  event.fields = {{"silent_ms", ms(message.silent)}, {"usual_ms", ms(message.usual)}};
  outbox_.add(std::move(event));
}

void AgentRuntime::await_ruling(const LauncherPeer& peer, const AttemptId& attempt) {
  waiting_.insert({attempt, peer.connection});
  const auto known_rulings = rulings_.find(attempt);
  if (known_rulings == rulings_.end()) return;
  for (const Uplink::Ruling& ruling : known_rulings->second) {
    ports_.door->reply(peer.connection,
                       {LauncherReply::Kind::ruling, attempt, ruling.final, ruling.text});
  }
}

void AgentRuntime::forget_connections() {
  for (const std::uint64_t connection : ports_.door->take_closed()) {
    std::erase_if(waiting_, [&](const auto& entry) { return entry.second == connection; });
    for (const RankRegistry::Rank& rank : ranks_.remove_connection(connection)) {
      if (!rank.exited) counters_.add("agent_launchers_lost_total");
      if (!rank.log.empty()) logs_.remove_later(rank.log, settings_.log_linger);
    }
  }
}

void AgentRuntime::pass_on_rulings() {
  for (Uplink::Ruling& ruling : ports_.uplink.take_rulings()) {
    for (const auto& [attempt, connection] : waiting_) {
      if (attempt != ruling.attempt || ports_.door == nullptr) continue;
      ports_.door->reply(connection,
                         {LauncherReply::Kind::ruling, attempt, ruling.final, ruling.text});
    }
    if (!rulings_.contains(ruling.attempt) && rulings_.size() >= attempts_with_rulings_max)
      rulings_.erase(rulings_.begin());
    auto& kept = rulings_[ruling.attempt];
    kept.push_back(std::move(ruling));
    if (kept.size() > rulings_per_attempt_max) kept.pop_front();
  }
}

// --- GPUs and logs

void AgentRuntime::look_at_gpus() {
  const Duration now = ports_.clock.monotonic();
  if (ports_.gpus == nullptr || now < gpus_due_) return;
  gpus_due_ = now + settings_.gpu_interval;
  const auto samples = ports_.gpus->sample(settings_.gpu_wait);
  if (samples.ok()) {
    gpus_hang_ = no_gpus_ = false;
    for (Event& event : gpu_watch_.observe(samples.value(), ports_.clock.now()))
      outbox_.add(std::move(event));
    return;
  }
  const Error& error = samples.error();
  if (error.code == ErrorCode::not_found) {
    gpus_due_ = now + settings_.no_gpu_interval;
    if (!std::exchange(no_gpus_, true)) spdlog::info("NVML: {}", error.message);
  } else if (error.code == ErrorCode::deadline_exceeded) {
    counters_.add("agent_gpu_hangs_total");
    if (std::exchange(gpus_hang_, true)) return;
    spdlog::warn("NVML: {}", error.message);
    Event gap = about_node(EventKind::source_gap);
    gap.fields = {{"why", std::string(to_text(GapReason::nvml_hung))}, {"log", "nvml"}};
    outbox_.add(std::move(gap));
  } else {
    counters_.add("agent_gpu_errors_total");
    spdlog::debug("NVML: {}", error.message);
  }
}

bool AgentRuntime::place_job_logs() {
  find_job_logs();
  keep();  // an agent that is killed before its first step finds its places again
  return scanned_ || !ports_.find_job_logs;
}

/// Looks for job logs that nobody announced. What is there when the agent comes is read from its
/// end, what appears later from its start.
void AgentRuntime::find_job_logs() {
  const Duration now = ports_.clock.monotonic();
  if (!ports_.find_job_logs || !ports_.follow || now < scan_due_) return;
  const auto found = ports_.find_job_logs();
  if (!found) return;
  scan_due_ = now + settings_.job_log_scan;
  const bool first = !std::exchange(scanned_, true);
  for (const std::string& path : *found) {
    if (logs_.follows(path) || seen_job_logs_.size() >= seen_job_logs_max ||
        !seen_job_logs_.insert(path).second)
      continue;
    auto attempt = attempt_of_log_name(path, settings_.node);
    if (attempt) {
      if (const auto running = ranks_.attempt_of_job(attempt->job)) attempt = running;
    }
    const auto start = first ? std::nullopt : std::optional<std::uint64_t>(0);
    const Status followed =
        logs_.add(ports_.follow({path, std::nullopt, start}), EventSource::job_log, attempt, -1,
                  [this](Event line) { take(std::move(line)); });
    if (!followed.ok()) spdlog::warn("job log {}: {}", path, followed.error().message);
  }
}

// --- the loop

/// Events first, cursors after: a crash between the two reads a line twice, the other order would
/// lose it.
void AgentRuntime::keep() {
  const bool kept = outbox_.keep();
  const Duration now = ports_.clock.monotonic();
  if (!outbox_.durable() || (!kept && now < save_due_)) return;
  save_due_ = now + settings_.cursor_save;
  logs_.keep_cursors();
  if (state_.changed()) save_state();
}

void AgentRuntime::save_state() {
  const Status saved = state_.save();
  const bool failed_before = std::exchange(unsaved_, !saved.ok());
  if (!saved.ok()) counters_.add("agent_state_errors_total");
  if (unsaved_ && !failed_before) {
    spdlog::error("state: {}; if the agent ends now, it reads lines again that it has told",
                  saved.error().message);
  } else if (failed_before && !unsaved_) {
    spdlog::info("state: kept again");
  }
}

Duration AgentRuntime::step() {
  const auto sink = [this](Event event) { take(std::move(event)); };
  // Logs before launchers: a kernel line names a process whose launcher may take its leave in the
  // same turn.
  const bool more = logs_.poll(sink);
  hear_launchers();
  look_at_gpus();
  find_job_logs();
  keep();
  outbox_.turn();
  pass_on_rulings();
  if (more) return Duration{0};
  Duration idle = outbox_.idle_time();
  const Duration now = ports_.clock.monotonic();
  if (logs_.must_poll() || ports_.find_job_logs) idle = std::min(idle, settings_.poll_interval);
  if (!waiting_.empty()) idle = std::min(idle, ruling_interval);
  if (ports_.gpus != nullptr) idle = std::min(idle, std::max(Duration{0}, gpus_due_ - now));
  return std::clamp(idle, Duration{std::chrono::milliseconds{1}},
                    Duration{std::chrono::seconds{1}});
}

std::vector<int> AgentRuntime::wait_descriptors() const {
  std::vector<int> descriptors = logs_.wait_descriptors();
  if (ports_.door != nullptr) descriptors.push_back(ports_.door->wait_descriptor());
  return descriptors;
}

void AgentRuntime::stop(Duration limit) {
  const Duration deadline = ports_.clock.monotonic() + limit;
  logs_.poll([this](Event event) { take(std::move(event)); });
  hear_launchers();
  save_due_ = Duration{0};
  keep();
  outbox_.flush(deadline);
}

void run_agent_loop(AgentRuntime& runtime, const std::atomic<bool>& stop, int wake) {
  while (!stop.load()) {
    const Duration idle = runtime.step();
    std::vector<pollfd> waits;
    for (const int descriptor : runtime.wait_descriptors())
      waits.push_back({descriptor, POLLIN, 0});
    waits.push_back({wake, POLLIN, 0});
    // Rounded up: a wait of less than a millisecond would spin.
    const auto timeout_ms =
        static_cast<int>((idle + std::chrono::microseconds{999}) / std::chrono::milliseconds{1});
    ::poll(waits.data(), waits.size(), timeout_ms);
  }
}

}  // namespace faultline
