// The rules of the local scheduler, as functions of its state: who may run where, and what a
// request, an end or a requeue changes. They start and stop nothing; local_cluster.cc does what
// they have written into the state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/local/local_request.h"
#include "adapters/local/local_state.h"
#include "base/result.h"
#include "model/action.h"
#include "model/cluster_view.h"

namespace faultline {

inline constexpr std::size_t tasks_max = 5000;        // known at once; a submit beyond is refused
inline constexpr std::size_t ended_tasks_kept = 200;  // the oldest beyond are forgotten
inline constexpr std::size_t attempts_kept = 20;      // of one task
inline constexpr std::size_t requeue_acts_kept = 64;  // of one task

/// not_found, conflict, exhausted or invalid_argument: the state is as before.
Status apply_request(LocalState& state, const LocalRequest& request, Instant now);

/// The nodes that `task` would get now, in the order of its ranks. After a requeue every node that
/// may be had again keeps its place and the places of the others are taken by spares first.
/// nullopt: not enough are free.
std::optional<std::vector<std::string>> place(const LocalState& state, const LocalTask& task);

/// Gives nodes to what waits, first fit in the order of submission, and marks it running without a
/// keeper. Returns its jobs.
std::vector<std::string> start_what_fits(LocalState& state, Instant now);
/// Why a task waits, for people; "" if it does not.
std::string waiting_reason(const LocalState& state, const LocalTask& task);

std::string exclude_command(const std::string& job, const std::vector<std::string>& nodes);
std::string requeue_command(const std::string& job);

/// How a process ended, as far as known.
struct LocalEnd {
  std::optional<std::int32_t> exit_code;
  Instant at;
  std::string detail;
};
/// Closes the latest attempt; one that was being requeued gets a next one, which waits.
void finish_attempt(LocalTask& task, const LocalEnd& end);

struct RequeueStep {
  enum class Progress { done, waiting, refused } progress = Progress::waiting;
  std::string detail;
  std::vector<std::string> commands = {};  // what it has changed, none if nothing
};
/// One step of a requeue: gives the exclusion to what waits, marks what runs on an excluded node to
/// be stopped, puts what has failed back. waiting: something is being stopped still. Repeating it
/// changes nothing.
RequeueStep advance_requeue(LocalState& state, const Action& action);
/// What advance_requeue would find, without changing anything.
Outcome inspect_requeue(const LocalState& state, const Action& action);

/// Drops the oldest of what has ended; returns it, so that its files can go too.
std::vector<LocalTask> forget_old(LocalState& state);

ClusterView make_view(const LocalState& state, Instant now);

}  // namespace faultline
