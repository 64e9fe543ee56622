// Which of the files belong to one run? Two runs in one folder are two diagnoses.
#pragma once

#include <string>
#include <vector>

#include "model/attempt.h"
#include "model/event.h"

namespace faultline {

/// Files whose times lie further apart than this are of different runs, where nothing else says so:
/// longer than a collective's time-out and a slow teardown, shorter than the time people take to
/// start again.
inline constexpr Duration run_gap_min = std::chrono::minutes{30};

inline constexpr std::size_t scheduler_runs_max = 64;

/// Written by the job itself, as against its nodes and its scheduler.
bool of_job(const Event& event);

struct Run {
  AttemptId attempt;
  std::vector<Event> events;
  std::vector<std::string> files;  // of the job's own
};

struct Runs {
  std::vector<Run> runs;        // at least one
  std::vector<Event> of_nodes;  // concern them all
};

/// From so many runs on, what nodes say is only looked at around each: a folder with hundreds of
/// jobs and months of kernel logs would take hundreds of times as long. A node that broke earlier
/// has broken other runs since, and they say so.
inline constexpr std::size_t runs_with_history_max = 16;
inline constexpr Duration history_before = std::chrono::hours{1};
inline constexpr Duration history_after = std::chrono::hours{1};

/// Every event of a job's own file goes to one run; what nodes say (kernel logs, health reports)
/// concerns all, since a run does not name its nodes to them. Files that name different jobs, that
/// hold the same rank in different folders or under different names, or whose times lie run_gap_min
/// apart are of different runs. What a scheduler says of an attempt goes to that one's run; where
/// no job's file was read, each attempt that did not complete is a run of its own, the latest
/// scheduler_runs_max of them.
Runs split_runs(std::vector<Event> events);

/// The events of one run, with those of nodes that concern it.
std::vector<Event> events_of(Run& run, const Runs& all);

}  // namespace faultline
