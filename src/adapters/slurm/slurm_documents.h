// What Slurm's clients print, as values. JSON of 22.05 (one state word, plain numbers) and of 23.02
// on (lists of states, {set, infinite, number}), and text for Slurm built without JSON. Names of
// users and jobs are data and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/attempt.h"
#include "model/cluster_view.h"

namespace faultline {

/// One record of squeue: a job, an array task, a component of a heterogeneous job, or the tail of
/// an array that has not started (id is the array's own, array_tasks names the tasks).
struct SlurmJob {
  std::string number;  // the record's own number, "6"
  std::string id;      // what people write, "2_1", "4+1"
  std::string array_job;
  std::string array_tasks;  // only of a tail: "2-4"
  std::string het_job;
  std::string name;
  std::string user;
  AttemptState state = AttemptState::unknown;
  bool completing = false;
  std::string reason;  // JobHeldUser, BeginTime, Resources, ...
  std::string description;
  std::vector<std::string> nodes;
  std::vector<std::string> excluded;
  std::uint32_t node_count = 0;       // text form only: asked for while it waits
  std::string partitions;             // text form only: "train", "train,long"
  std::vector<std::string> required;  // by name: its user's wish, or a tie of ours (slurm_tie.h)
  std::uint32_t restart = 0;
  bool batch = false;
  bool requeue = false;
  bool held = false;
  Instant start;
  Instant end;
  Instant eligible;  // text form only: not started before
  std::optional<std::int32_t> exit_code;
  std::string admin_comment;
};

/// "123_4" for scontrol; a tail is "123_[5-9]". Every byte of it was checked.
std::string update_target(const SlurmJob& job);

/// Held by a requeue into the held state, ours or somebody else's; not by a person's hold, nor by a
/// failed launch.
bool held_by_requeue(const SlurmJob& job);

// What is no job and no node is left out and added to `left_out`, if that is given.
Result<std::vector<SlurmJob>> parse_jobs_json(std::string_view text,
                                              std::size_t* left_out = nullptr);

/// squeue -o's and -O's formats: free text is left out, or stands last in fixed columns, so that no
/// name can forge a field.
inline constexpr std::string_view job_text_format = "%A|%i|%T|%F|%K|%U|%x|%N|%S|%e|%D|%P|%n|%r";
inline constexpr std::string_view job_text_columns =
    "JobID:16,RestartCnt:8,BatchFlag:4,Requeue:4,HetJobID:16,HetJobOffset:8,PriorityLong:24,exit_"
    "code:8,EligibleTime:24,"
    "admin_comment:256";
Result<std::vector<SlurmJob>> parse_jobs_text(std::string_view lines, std::string_view columns,
                                              std::size_t* left_out = nullptr);

struct SlurmNode {
  SchedulerNode node;
  std::vector<std::string> features;
  bool reserved = false;
};
Result<std::vector<SlurmNode>> parse_nodes_json(std::string_view text,
                                                std::size_t* left_out = nullptr);
/// scontrol -o show node.
Result<std::vector<SlurmNode>> parse_nodes_text(std::string_view text,
                                                std::size_t* left_out = nullptr);

/// scontrol -o show topology: leaf switch of each node. Empty without a topology.
std::map<std::string, std::string> parse_topology(std::string_view text);

struct SlurmReservation {
  std::string name;
  std::vector<std::string> nodes;
  bool active = false;
  bool maintenance = false;
};
/// scontrol -o show reservation.
std::vector<SlurmReservation> parse_reservations(std::string_view text);

}  // namespace faultline
