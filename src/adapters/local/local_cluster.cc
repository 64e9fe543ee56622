#include "adapters/local/local_cluster.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "adapters/local/local_acts.h"
#include "adapters/local/local_inbox.h"
#include "adapters/local/local_jobs.h"
#include "adapters/local/local_rules.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr Duration requeue_step = std::chrono::milliseconds{50};
constexpr std::size_t test_output_bytes_max = 400;

/// Keepers work elsewhere than we do.
std::filesystem::path absolute(const std::string& state) {
  std::error_code error;
  const auto path = std::filesystem::absolute(state, error);
  return error ? std::filesystem::path(state) : path.lexically_normal();
}

bool stop_wanted(const LocalTask& task) { return task.cancelled || !task.requeued_by.empty(); }

}  // namespace

class LocalCluster::Impl {
 public:
  Impl(LocalOptions options, const Clock& clock, Counters& counters)
      : options_(std::move(options)),
        clock_(clock),
        counters_(counters),
        folder_(absolute(options_.state)),
        inbox_(folder_),
        jobs_(folder_, options_.program, options_.grace, clock, counters) {}

  Status open() {
    const std::scoped_lock hold(mutex_);
    return ensure_open();
  }

  Result<ClusterView> view() {
    const std::scoped_lock hold(mutex_);
    FAULTLINE_TRY(ensure_open());
    FAULTLINE_TRY(keep_house());
    return make_view(state_, clock_.now());
  }

  Result<Outcome> execute(const Action& action) {
    if (const auto status = check_local_action(action); !status) {
      counters_.add("local_actions_refused_total");
      return status.error();
    }
    if (action.dry_run) {
      return Outcome{action.id,
                     OutcomeStatus::done,
                     clock_.now(),
                     "dry run: nothing was done",
                     planned_commands(action, options_.test_command),
                     false};
    }
    switch (action.kind) {
      case ActionKind::drain_node:
      case ActionKind::return_node:
      case ActionKind::hold_job: return write_act(action);
      case ActionKind::requeue_excluding: return requeue(action);
      case ActionKind::test_node: return test(action);
      case ActionKind::notify: break;
    }
    return outcome(action, OutcomeStatus::done, "nothing to do in the scheduler");
  }

  Result<Outcome> inspect(const Action& action) {
    if (const auto status = check_local_action(action); !status) {
      return outcome(action, OutcomeStatus::failed, status.error().message);
    }
    if (action.kind == ActionKind::notify)
      return outcome(action, OutcomeStatus::done, "nothing to do in the scheduler");
    if (action.kind == ActionKind::test_node) {
      return outcome(action, OutcomeStatus::failed, "a test leaves no trace; it can be run again",
                     true);
    }
    const std::scoped_lock hold(mutex_);
    FAULTLINE_TRY(ensure_open());
    auto seen = action.kind == ActionKind::requeue_excluding ? inspect_requeue(state_, action)
                                                             : inspect_in_state(state_, action);
    seen.at = clock_.now();
    return seen;
  }

 private:
  Status ensure_open() {
    if (lock_) return ok_status();
    // Looked at first: a lock file must not make a folder look like a cluster.
    if (auto state = folder_.load(); !state) return state.error();
    auto lock = FileLock::take(folder_.lock_file(), false);
    if (!lock && lock.error().code == ErrorCode::unavailable) {
      return Error{
          ErrorCode::conflict,
          options_.state + " is in use by another `faultline serve`; one folder, one controller"};
    }
    if (!lock) return lock.error();
    auto state = folder_.load();
    if (!state) return state.error();
    state_ = std::move(state).value();
    saved_text_ = state_text(state_);
    lock_.emplace(std::move(lock).value());
    return ok_status();
  }

  Status save() {
    std::string text = state_text(state_);
    if (text == saved_text_) return ok_status();
    FAULTLINE_TRY(folder_.save(text));
    saved_text_ = std::move(text);
    return ok_status();
  }

  /// Saves, or takes back what was changed since: nothing is done that is not on disk.
  Status save_or_undo() {
    auto status = save();
    if (status) return status;
    counters_.add("local_state_write_errors_total");
    if (auto before = parse_state(saved_text_)) state_ = std::move(before).value();
    return status;
  }

  Status keep_house() {
    jobs_.reap();
    std::vector<std::string> taken;
    take_requests(taken);
    notice_ends();
    for (const auto& job : start_what_fits(state_, clock_.now())) jobs_.clear(*state_.task(job));
    const auto forgotten = forget_old(state_);
    FAULTLINE_TRY(save_or_undo());
    for (const auto& name : taken) inbox_.remove(name);
    for (const auto& task : forgotten) remove_files(task);
    start_and_stop();
    if (!save())
      counters_.add(
          "local_state_write_errors_total");  // what it says is in the folder too; saved next time
    return ok_status();
  }

  void take_requests(std::vector<std::string>& taken) {
    const auto refuse = [&](const std::string& name, const std::string& why) {
      counters_.add("local_requests_refused_total");
      inbox_.refuse(name, why);
    };
    for (const auto& entry : inbox_.read(refuse)) {
      const auto status = take(entry);
      if (status) {
        counters_.add("local_requests_taken_total");
        taken.push_back(entry.name);
      } else if (status.error().code == ErrorCode::unavailable) {
        counters_.add("local_state_write_errors_total");  // the disk; it waits in the inbox
      } else {
        refuse(entry.name, status.error().message);
      }
    }
  }

  Status take(const InboxEntry& entry) {
    const auto& request = entry.request;
    if (request.kind != LocalRequestKind::submit)
      return apply_request(state_, request, clock_.now());
    const auto path = folder_.submit_file(request.job);
    if (!state_.tasks_of(request.job).empty()) {
      // Taken before, and then a crash before it left the inbox.
      const auto kept = read_own_file(path, request_bytes_max);
      if (kept && *kept == entry.text) return ok_status();
      return Error{ErrorCode::conflict, "job " + request.job + " exists already"};
    }
    // The job's own file before the state: no job may be known whose command is not.
    if (const auto status = write_durably(path, entry.text); !status) {
      return Error{ErrorCode::unavailable, status.error().message};
    }
    return apply_request(state_, request, clock_.now());
  }

  void notice_ends() {
    for (auto& task : state_.tasks) {
      if (!live(task.latest())) continue;
      if (const auto end = jobs_.look(task)) finish_attempt(task, *end);
    }
  }

  /// Does what the saved state says.
  void start_and_stop() {
    for (auto& task : state_.tasks) {
      if (!live(task.latest())) continue;
      if (stop_wanted(task)) {
        jobs_.stop(task);
      } else if (!task.latest().keeper) {
        start(task);
      }
    }
  }

  void start(LocalTask& task) {
    const auto status = jobs_.start(task);
    if (status) return;
    counters_.add("local_start_errors_total");
    // A lack of processes or memory passes; what is wrong with the job itself does not.
    if (status.error().code == ErrorCode::exhausted ||
        status.error().code == ErrorCode::unavailable)
      return;
    finish_attempt(task, {std::nullopt, clock_.now(), printable(status.error().message, 256)});
  }

  void remove_files(const LocalTask& task) {
    jobs_.forget(task);
    if (!state_.tasks_of(task.base_job()).empty()) return;
    std::error_code ignored;
    std::filesystem::remove(folder_.submit_file(task.base_job()), ignored);
  }

  Result<Outcome> write_act(const Action& action) {
    const std::scoped_lock hold(mutex_);
    FAULTLINE_TRY(ensure_open());
    auto done = act_on_state(state_, action);
    if (!done) return done.error();
    if (!save_or_undo())
      return outcome(action, OutcomeStatus::failed, "the state could not be written", true);
    done.value().at = clock_.now();
    return done;
  }

  Result<Outcome> requeue(const Action& action) {
    const Duration end = clock_.monotonic() + action.deadline;
    std::vector<std::string> commands;
    for (;;) {
      auto step = requeue_once(action);
      if (!step) return step.error();
      commands.insert(commands.end(), step->commands.begin(), step->commands.end());
      if (step->progress == RequeueStep::Progress::refused) {
        return Error{
            step->detail.starts_with("no job ") ? ErrorCode::not_found : ErrorCode::conflict,
            step->detail};
      }
      const bool done = step->progress == RequeueStep::Progress::done;
      if (done || clock_.monotonic() >= end) {
        auto result = outcome(action, done ? OutcomeStatus::done : OutcomeStatus::unknown,
                              step->detail, !done);
        result.commands = std::move(commands);
        return result;
      }
      clock_.sleep(requeue_step);
    }
  }

  Result<RequeueStep> requeue_once(const Action& action) {
    const std::scoped_lock hold(mutex_);
    FAULTLINE_TRY(ensure_open());
    notice_ends();
    auto step = advance_requeue(state_, action);
    FAULTLINE_TRY(save_or_undo());
    start_and_stop();
    if (!save()) counters_.add("local_state_write_errors_total");
    return step;
  }

  Result<Outcome> test(const Action& action) {
    if (options_.test_command.empty())
      return outcome(action, OutcomeStatus::unknown, "no test command is configured");
    {
      const std::scoped_lock hold(mutex_);
      FAULTLINE_TRY(ensure_open());
      const auto view = make_view(state_, clock_.now());
      const auto* node = view.node(action.subject.node);
      const bool ours = node != nullptr && node->drained && reason_is_ours(node->drain_reason);
      if (!ours && (node == nullptr || !node->idle)) {
        return outcome(
            action, OutcomeStatus::failed,
            action.subject.node + " is neither drained by faultline nor idle; not tested", true);
      }
    }
    ProcessOptions options;
    options.deadline = action.deadline;
    options.output_bytes_max = std::size_t{1} << 20;
    options.environment = {"FAULTLINE_NODE=" + action.subject.node};
    const auto ran = run_process(options_.test_command, options);
    if (!ran) {
      return outcome(action, OutcomeStatus::unknown,
                     "the test could not be run: " + ran.error().message);
    }
    const std::string last =
        printable(trim(ran->err.empty() ? ran->out : ran->err), test_output_bytes_max);
    const auto verdict = ran->exit_code == 0 ? OutcomeStatus::done : OutcomeStatus::failed;
    auto result = outcome(
        action, ran->timed_out ? OutcomeStatus::unknown : verdict,
        (ran->timed_out ? "the test did not end within " + to_text(action.deadline)
                        : "the test ended with exit code " + std::to_string(ran->exit_code)) +
            (last.empty() ? "" : ": " + last));
    result.commands = planned_commands(action, options_.test_command);
    return result;
  }

  [[nodiscard]] Outcome outcome(const Action& action, OutcomeStatus status, std::string detail,
                                bool retryable = false) const {
    return {action.id, status, clock_.now(), std::move(detail), {}, retryable};
  }

  const LocalOptions options_;
  const Clock& clock_;
  Counters& counters_;
  const StateFolder folder_;
  const LocalInbox inbox_;
  std::mutex mutex_;  // guards all below
  LocalJobs jobs_;
  std::optional<FileLock> lock_;
  LocalState state_;
  std::string saved_text_;
};

LocalCluster::LocalCluster(LocalOptions options, const Clock& clock, Counters& counters)
    : impl_(std::make_unique<Impl>(std::move(options), clock, counters)) {}

LocalCluster::~LocalCluster() = default;

Status LocalCluster::open() { return impl_->open(); }

Result<ClusterView> LocalCluster::view() { return impl_->view(); }

Result<Outcome> LocalCluster::execute(const Action& action) { return impl_->execute(action); }

Result<Outcome> LocalCluster::inspect(const Action& action) { return impl_->inspect(action); }

}  // namespace faultline
