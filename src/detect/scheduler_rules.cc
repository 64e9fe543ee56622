// Rules about how the attempt ended: on purpose, by memory, by a signal, or with nothing but an
// exit code.
#include <algorithm>
#include <array>
#include <csignal>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "detect/memory_kill.h"

namespace faultline {
namespace {

constexpr std::array limit_causes = {cause_id::time_limit, cause_id::preempted};
constexpr std::size_t quoted_bytes_max = 200;
constexpr std::array order_causes = {cause_id::cancelled, cause_id::requeued};

/// Between a scheduler's signal and its kill: what ranks say then is of the signal.
constexpr Duration kill_wait = std::chrono::minutes{1};

/// What comes with the end of a job that was finished: clean-up that hangs or is torn down, and
/// connections that close.
bool belongs_to_teardown(const JobLine& line) {
  return !is_root(line) || comes_with_the_end(line) ||
         line.cause->id == cause_id::nccl_system_error;
}

/// How the other ranks are taken down once one has failed.
bool takes_down(int signal) { return signal == SIGTERM || signal == SIGKILL; }

bool is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
}

/// A crash or a kill for memory of which the scheduler tells: nobody does that by cancelling.
bool seen_to_break(const JobLine& line) {
  return line.cause->id == cause_id::out_of_memory_cgroup ||
         line.cause->id == cause_id::crash_signal;
}

}  // namespace

bool failed_by_itself(const FailureCase& failure) {
  const bool error =
      std::any_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
        if (lost_after_end(line, failure)) return false;
        const bool waited = line.cause->id == cause_id::collective_timeout;
        const bool own = line.signature->layer == Layer::application || seen_to_break(line);
        return waited || (is_root(line) && own);
      });
  const auto& ranks = failure.attempt.failed_ranks;
  return error || std::any_of(ranks.begin(), ranks.end(), [](const auto& exit) {
           return !takes_down(signal_of(exit.second.event));
         });
}

namespace {

std::optional<Explanation> by_state(const FailureCase& failure) {
  std::string_view cause;
  switch (failure.attempt.state) {
    case AttemptState::timeout: cause = cause_id::time_limit; break;
    case AttemptState::preempted: cause = cause_id::preempted; break;
    case AttemptState::cancelled: cause = cause_id::cancelled; break;
    case AttemptState::requeued: cause = cause_id::requeued; break;
    case AttemptState::pending:
    case AttemptState::running:
    case AttemptState::completing:
    case AttemptState::completed:
    case AttemptState::failed:
    case AttemptState::node_fail:
    case AttemptState::out_of_memory:
    case AttemptState::unknown: return std::nullopt;
  }
  if (contains(order_causes, cause) && failed_by_itself(failure)) return std::nullopt;
  Explanation explanation;
  explanation.cause = failure.catalog.cause(cause);
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.since = failure.failed_at;
  explanation.evidence.push_back(&failure.failing.event);
  return explanation;
}

/// A process of the job that failed by itself.
bool tells_of_exit(const JobLine& line) {
  static constexpr std::array causes = {cause_id::task_failed, cause_id::worker_failed,
                                        cause_id::crash_signal};
  return contains(causes, line.cause->id) && !takes_down(signal_of(line.fact->event));
}

/// An exception after the order may be what the order looks like to the program, and a task that
/// ended after it was taken down by it.
bool broke_before(const JobLine& order, const FailureCase& failure) {
  return std::any_of(failure.lines.data(), &order, [](const JobLine& line) {
    return line.signature->id == exception_signature || tells_of_exit(line);
  });
}

/// The scheduler's own words in the job's log. A plain cancellation or requeue is how it takes down
/// a job that has failed already, so those words count only if nothing else does.
std::optional<Explanation> by_words(const FailureCase& failure) {
  for (const JobLine& line : failure.lines) {
    const bool limit = contains(limit_causes, line.cause->id);
    const bool order = contains(order_causes, line.cause->id);
    if (!limit && (!order || failed_by_itself(failure) || broke_before(line, failure))) continue;
    Explanation explanation = explanation_from(line, line.cause->id, failure);
    explanation.subject = Subject::of_attempt(failure.attempt.id);
    return explanation;
  }
  return std::nullopt;
}

/// Ended or hung the job, whatever came afterwards: broken hardware that its rank did not outlive,
/// or a collective that was waited for in vain.
bool breaks_job(const JobLine& line) {
  return line.signature->id == collective_timeout_signature || says_hardware(line);
}

/// An error of the program counts only where a process ended behind it: programs try again.
bool broke(const FailureCase& failure, Instant ended_at) {
  const Instant by_itself = ended_at - kill_wait;
  bool error = false;
  for (const JobLine& line : failure.lines) {
    if (line.fact->at < failure.restarted_at) continue;
    if (breaks_job(line) || line.cause->id == cause_id::crash_signal) return true;
    if (error && tells_of_exit(line)) return true;
    error = error || (is_own_error(line) && lies_outside_node(*line.cause));
  }
  const auto& ranks = failure.attempt.failed_ranks;
  return std::any_of(ranks.begin(), ranks.end(), [&](const auto& exit) {
    return exit.second.at < by_itself && exit.second.at >= failure.restarted_at &&
           (error || is_crash(signal_of(exit.second.event)));
  });
}

/// When a limit ended the job: by the scheduler's word in its log, or else by its record.
struct Limit {
  std::vector<JobLine>::const_iterator line;  // the first one that is not before it
  Instant at;
};

Limit limit_of(const FailureCase& failure) {
  const auto word =
      std::find_if(failure.lines.begin(), failure.lines.end(),
                   [](const JobLine& line) { return contains(limit_causes, line.cause->id); });
  if (word != failure.lines.end()) return {word, word->fact->at};
  return {std::find_if(failure.lines.begin(), failure.lines.end(),
                       [&](const JobLine& line) { return line.fact->at >= failure.failed_at; }),
          failure.failed_at};
}

/// A job that broke or hung before its time was up has its cause there; that its time ran out, or
/// that another job took its place, came of it or does not matter any more.
std::optional<Explanation> broken_before_limit(const FailureCase& failure) {
  const Limit limit = limit_of(failure);
  AttemptRecord attempt = failure.attempt;
  attempt.state = AttemptState::failed;
  std::erase_if(attempt.failed_ranks, [&](const auto& exit) { return exit.second.at >= limit.at; });
  FailureCase before{failure.catalog,
                     attempt,
                     failure.failing,
                     failure.failed_at,
                     failure.onset,
                     {failure.lines.begin(), limit.line},
                     failure.nodes,
                     {},
                     failure.heard,
                     failure.down,
                     failure.suspected_before,
                     failure.operations,
                     failure.restarted_at};
  for (NodeFaults& on_node : before.nodes) {
    std::erase_if(on_node.faults, [&](const KernelFault& fault) {
      return fault.since() + on_node.clock_offset >= limit.at;
    });
  }
  if (!broke(before, limit.at)) return std::nullopt;
  Explanation explanation = explain(before);
  if (explanation.cause == nullptr || explanation.cause->id == cause_id::insufficient_evidence)
    return std::nullopt;
  for (auto line = limit.line; line != failure.lines.end(); ++line)
    explanation.consequences.push_back(&line->fact->event);
  return explanation;
}

void add_all_lines(Explanation& explanation, const FailureCase& failure) {
  for (const JobLine& line : failure.lines) explanation.consequences.push_back(&line.fact->event);
}

/// The launcher's line about a worker that died by `signal`, or a rank's exit.
struct Killed {
  const Fact* fact = nullptr;
  std::int32_t rank = -1;
  std::string node;
  int signal = 0;
  const JobLine* line = nullptr;  // the launcher's, if it says so
};

std::optional<Killed> first_killed(const FailureCase& failure, int signal) {
  std::optional<Killed> first;
  for (const auto& [rank, exit] : failure.attempt.failed_ranks) {
    if (signal_of(exit.event) != signal || (first && exit.at >= first->fact->at)) continue;
    first = Killed{&exit, rank, node_of(exit.event), signal, nullptr};
  }
  for (const JobLine& line : failure.lines) {
    if (signal_in(line) != signal || line.signature->role != Role::root) continue;
    if (first && line.fact->at >= first->fact->at) continue;
    first = Killed{line.fact, line.rank, line.node, signal, &line};
  }
  return first;
}

/// As its launcher calls it: "Local rank 3 (pid 712917)".
std::string worker_text(const Killed& killed) {
  const Event& event = killed.fact->event;
  std::string text = event.field("local_rank").empty()
                         ? "A worker"
                         : "Local rank " + std::string(event.field("local_rank"));
  if (!event.field("pid").empty()) text += " (pid " + std::string(event.field("pid")) + ")";
  return killed.node.empty() ? text : text + " on " + killed.node;
}

/// By time; lines of one file that have no times of their own stand in their order.
bool stands_before(const JobLine& line, const Killed& killed) {
  const bool one_file = killed.line != nullptr &&
                        line.fact->event.raw.path == killed.fact->event.raw.path &&
                        line.fact->at == killed.fact->at;
  return one_file ? &line < killed.line : line.fact->at <= killed.fact->at;
}

/// A launcher names the worker that failed first, so its word for a kill stands before what the
/// others printed about their waiting. An error with a reason of its own is no such echo.
bool came_first(const Killed& killed, const FailureCase& failure) {
  return std::none_of(failure.lines.begin(), failure.lines.end(), [&](const JobLine& line) {
    if (signal_in(line) == killed.signal) return false;
    const bool echo = is_communication_trouble(line) || line.signature->id == exception_signature;
    if (!echo && !is_own_error(line)) return false;
    return echo && killed.line != nullptr ? false : stands_before(line, killed);
  });
}

/// A rank that crashed or gave up by itself before: the kill is how the others were taken down.
bool failed_earlier(const FailureCase& failure, Instant kill) {
  const auto& ranks = failure.attempt.failed_ranks;
  return std::any_of(ranks.begin(), ranks.end(), [&](const auto& exit) {
    return !takes_down(signal_of(exit.second.event)) && exit.second.at <= kill;
  });
}

/// All but the cause, the confidence and the text.
Explanation explanation_of(const Killed& killed, const FailureCase& failure) {
  Explanation explanation;
  explanation.subject = killed.rank >= 0
                            ? Subject::of_rank(failure.attempt.id, killed.rank, killed.node)
                            : Subject::of_attempt(failure.attempt.id);
  explanation.node = killed.node;
  explanation.since = killed.fact->at;
  explanation.evidence.push_back(&killed.fact->event);
  add_all_lines(explanation, failure);
  return explanation;
}

/// Ranks that were taken down with the others have no say.
const Fact* first_exit_by_itself(const FailureCase& failure) {
  const Fact* first = nullptr;
  for (const auto& [rank, exit] : failure.attempt.failed_ranks) {
    if (takes_down(signal_of(exit.event))) continue;
    if (first == nullptr || exit.at < first->at) first = &exit;
  }
  return first;
}

/// The first line of a launcher or scheduler about a task that failed by itself, with its place.
const JobLine* first_failed_task(const FailureCase& failure) {
  const auto line =
      std::find_if(failure.lines.begin(), failure.lines.end(), [](const JobLine& job) {
        return tells_of_exit(job) && (job.rank >= 0 || !job.node.empty());
      });
  return line == failure.lines.end() ? nullptr : &*line;
}

/// Nothing if nobody followed the rank's output; "" if it printed nothing.
std::optional<std::string> last_line_of(const Event& exit) {
  const auto field = exit.fields.find("last_line");
  if (field == exit.fields.end()) return std::nullopt;
  return printable(field->second, quoted_bytes_max);
}

std::string words_about_why(const std::optional<std::string>& last_line) {
  if (!last_line) return "its own words about why are not here.";
  if (last_line->empty()) return "it printed nothing.";
  return "its last line says nothing that is known: \"" + *last_line + "\".";
}

/// A crash is a cause, if a weak one; an exit code by itself says nothing.
void judge_exit(bool crashed, Explanation& explanation, const FailureCase& failure) {
  explanation.cause =
      failure.catalog.cause(crashed ? cause_id::crash_signal : cause_id::insufficient_evidence);
  explanation.unknown = !crashed;
  explanation.confidence = crashed ? confidence::even : confidence::hint;
}

}  // namespace

std::optional<Explanation> rule_after_success(const FailureCase& failure) {
  const auto finished =
      std::find_if(failure.lines.begin(), failure.lines.end(),
                   [](const JobLine& line) { return line.signature->id == finished_signature; });
  if (finished == failure.lines.end()) return std::nullopt;
  const auto real_error =
      std::find_if_not(failure.lines.begin(), failure.lines.end(), belongs_to_teardown);
  if (real_error != failure.lines.end()) return std::nullopt;
  Explanation explanation = explanation_from(*finished, cause_id::teardown_after_success, failure);
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.node.clear();
  explanation.sure = true;
  explanation.confidence = confidence::strong;
  for (auto line = finished + 1; line != failure.lines.end(); ++line)
    explanation.consequences.push_back(&line->fact->event);
  explanation.text =
      "The training had finished; what failed afterwards is its clean-up. No node is to blame.";
  return explanation;
}

std::optional<Explanation> rule_ended_on_purpose(const FailureCase& failure) {
  auto explanation = by_state(failure);
  if (!explanation) explanation = by_words(failure);
  if (!explanation || explanation->cause == nullptr) return std::nullopt;
  if (contains(limit_causes, std::string_view(explanation->cause->id))) {
    if (auto before = broken_before_limit(failure)) return before;
  }
  explanation->sure = true;
  explanation->node.clear();
  explanation->confidence = confidence::proven;
  add_all_lines(*explanation, failure);
  explanation->text = explanation->cause->summary + ". No node is to blame.";
  return explanation;
}

/// Whether ranks spoke themselves, of whatever it was.
static bool ranks_were_heard(const FailureCase& failure) {
  return std::any_of(failure.lines.begin(), failure.lines.end(), [](const JobLine& line) {
    return line.cause->id == cause_id::peer_lost || line.cause->id == cause_id::nccl_warning ||
           is_communication_trouble(line);
  });
}

/// The rank that was killed, where its launcher tells its pid, or else the host that was short of
/// memory. A job's own limit is nobody's place.
static Subject place_of_kill(const Explanation& explanation, const FailureCase& failure) {
  const Event* told = explanation.evidence.front();
  const std::string_view pid = told->field("pid");
  for (const JobLine& line : failure.lines) {
    const bool says_itself =
        &line.fact->event == told && line.signature->layer == Layer::application;
    const bool same_process = !pid.empty() && line.fact->event.field("pid") == pid;
    if (line.rank >= 0 && (says_itself || same_process))
      return Subject::of_rank(failure.attempt.id, line.rank, explanation.node);
  }
  if (explanation.cause->id == cause_id::out_of_memory_host && !explanation.node.empty())
    return Subject::of_node(explanation.node);
  return Subject::of_attempt(failure.attempt.id);
}

std::optional<Explanation> rule_out_of_memory(const FailureCase& failure) {
  Explanation explanation;
  const auto line =
      std::find_if(failure.lines.begin(), failure.lines.end(),
                   [](const JobLine& job) { return concerns_memory(*job.cause) && is_root(job); });
  if (const auto kill = memory_kill_of(failure)) {
    explanation.node = kill->node;
    explanation.cause = kill->fault->cause;
    explanation.since = kill->fault->since();
    for (const Fact* fact : kill->fault->evidence) explanation.evidence.push_back(&fact->event);
  } else if (line != failure.lines.end()) {
    explanation.cause = line->cause;
    explanation.since = line->fact->at;
    explanation.node = line->node;
    explanation.evidence.push_back(&line->fact->event);
  } else if (failure.attempt.state == AttemptState::out_of_memory) {
    explanation.cause = failure.catalog.cause(cause_id::out_of_memory_cgroup);
    explanation.since = failure.failed_at;
    explanation.evidence.push_back(&failure.failing.event);
  } else {
    return std::nullopt;
  }
  if (explanation.cause == nullptr) return std::nullopt;
  explanation.subject = place_of_kill(explanation, failure);
  explanation.sure = true;
  explanation.confidence = confidence::certain;
  add_all_lines(explanation, failure);
  explanation.text =
      explanation.cause->summary +
      (explanation.node.empty() ? "" : " (on " + explanation.node + ")") +
      ". A process of the job was killed for it, or was refused memory; the node itself "
      "is not suspected.";
  return explanation;
}

std::optional<Explanation> rule_bus_error(const FailureCase& failure) {
  const auto killed = first_killed(failure, SIGBUS);
  if (!killed || !came_first(*killed, failure)) return std::nullopt;
  Explanation explanation = explanation_of(*killed, failure);
  explanation.cause = failure.catalog.cause(cause_id::shm_too_small);
  explanation.confidence = confidence::fair;
  explanation.text =
      worker_text(*killed) +
      " died of SIGBUS without any error text, as when /dev/shm is full. Bad host memory can do "
      "the same.";
  explanation.missing = {"size of /dev/shm inside the job", kernel_log_of(killed->node, failure)};
  return explanation;
}

std::optional<Explanation> rule_killed(const FailureCase& failure) {
  const auto killed = first_killed(failure, SIGKILL);
  if (!killed || !came_first(*killed, failure) || failed_earlier(failure, killed->fact->at))
    return std::nullopt;
  Explanation explanation = explanation_of(*killed, failure);
  explanation.missing = {kernel_log_of(killed->node, failure)};
  // A worker killed without a traceback, its peers taken down by the launcher, no word from the
  // scheduler: mostly the kernel's out-of-memory killer. Where the node's kernel is listened to and
  // said nothing, or more of the job was read than its launcher's word, that guess is not allowed.
  const bool kernel_silent =
      killed->node.empty() ? !failure.heard.empty() : failure.hears(killed->node);
  if (killed->line != nullptr && !kernel_silent && !ranks_were_heard(failure)) {
    explanation.cause = failure.catalog.cause(cause_id::out_of_memory_host);
    explanation.confidence = confidence::even;
    explanation.text =
        worker_text(*killed) +
        " was killed by SIGKILL without a traceback and nobody says by whom. Mostly that is the "
        "kernel running out of host memory; the kernel log would prove it.";
  } else {
    explanation.cause = failure.catalog.cause(cause_id::sigkill);
    explanation.unknown = true;
    explanation.confidence = confidence::weak;
    explanation.text =
        worker_text(*killed) + " was killed by SIGKILL, and nothing that was seen says by whom.";
  }
  return explanation;
}

std::optional<Explanation> rule_first_exit(const FailureCase& failure) {
  Explanation explanation;
  std::string who;
  std::optional<std::string> last_line;
  if (const Fact* exit = first_exit_by_itself(failure)) {
    const std::int32_t rank = exit->event.subject.rank;
    explanation.node = node_of(exit->event);
    explanation.subject = Subject::of_rank(failure.attempt.id, rank, explanation.node);
    explanation.since = exit->at;
    explanation.evidence.push_back(&exit->event);
    judge_exit(is_crash(signal_of(exit->event)), explanation, failure);
    who = "rank " + std::to_string(rank);
    if (!explanation.node.empty()) who += " on " + explanation.node;
    last_line = last_line_of(exit->event);
  } else if (const JobLine* line = first_failed_task(failure)) {
    explanation = explanation_from(*line, line->cause->id, failure);
    judge_exit(line->cause->id == cause_id::crash_signal, explanation, failure);
    who = place_text(*line);
  } else {
    return std::nullopt;
  }
  add_all_lines(explanation, failure);
  explanation.text = "The first to fail was " + who + "; " + words_about_why(last_line);
  // Its output was followed to the end: there is no more of it to send.
  if (!last_line) explanation.missing.push_back("the whole output of " + who);
  if (explanation.node.empty() || !failure.hears(explanation.node))
    explanation.missing.push_back(kernel_log_of(explanation.node, failure));
  return explanation;
}

std::optional<Explanation> rule_told_to_end(const FailureCase& failure) {
  const auto told =
      std::find_if(failure.lines.begin(), failure.lines.end(),
                   [](const JobLine& line) { return line.cause->id == cause_id::terminated; });
  if (told == failure.lines.end()) return std::nullopt;
  Explanation explanation = explanation_from(*told, cause_id::terminated, failure);
  explanation.subject = Subject::of_attempt(failure.attempt.id);
  explanation.node.clear();
  explanation.confidence = confidence::weak;
  add_all_lines(explanation, failure);
  explanation.text =
      "The job was told to end from outside, and met no error of its own in what was read. By a "
      "person, a scheduler or another node's launcher: no line says.";
  explanation.missing = {"the scheduler's record of " + attempt_words(failure),
                         "the output of the other nodes, if there are any"};
  return explanation;
}

}  // namespace faultline
