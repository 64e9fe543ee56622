#include "diagnose/runs.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

constexpr Instant start{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

Event line(const std::string& path, Duration after, const std::string& job = "unknown",
           std::int32_t rank = -1) {
  Event event;
  event.source = EventSource::job_log;
  event.attempt = AttemptId{job, 0};
  event.subject =
      rank < 0 ? Subject::of_attempt(*event.attempt) : Subject::of_rank(*event.attempt, rank);
  event.observed_at = start + after;
  event.raw.path = path;
  event.raw.text = path;
  event.id = make_event_id(event);
  return event;
}

std::vector<std::string> jobs_of(const Runs& all) {
  std::vector<std::string> jobs;
  for (const Run& run : all.runs)
    jobs.push_back(run.attempt.job + ":" + std::to_string(run.files.size()));
  return jobs;
}

using Jobs = std::vector<std::string>;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Runs, NothingIsOneRun) { EXPECT_EQ(jobs_of(split_runs({})), Jobs{"unknown:0"}); }

TEST(Runs, FilesOfOneTimeAreOneRun) {
  EXPECT_EQ(jobs_of(split_runs({line("rank0.log", seconds{0}), line("rank1.log", minutes{29})})),
            Jobs{"unknown:2"});
}

TEST(Runs, FilesFarApartInTimeAreTwo) {
  EXPECT_EQ(jobs_of(split_runs({line("a.log", seconds{0}), line("b.log", minutes{31})})),
            (Jobs{"unknown-1:1", "unknown-2:1"}));
}

TEST(Runs, ATraceReachesUntilATimeOutIsOver) {
  Event waits = line("rank_0", seconds{0}, "unknown", 0);
  waits.source = EventSource::collective_trace;
  waits.kind = EventKind::operation_pending;
  waits.fields["timeout_ms"] = "1800000";
  const Event log = line("rank0.log", minutes{59}, "unknown", 0);
  EXPECT_EQ(jobs_of(split_runs({waits, log})), Jobs{"unknown:2"});
  waits.fields["timeout_ms"] = "600000";
  EXPECT_EQ(jobs_of(split_runs({waits, log})), (Jobs{"unknown-1:1", "unknown-2:1"}));
  waits.fields.erase("timeout_ms");
  EXPECT_EQ(jobs_of(split_runs({waits, log})), Jobs{"unknown:2"}) << "the longest default";
  waits.kind = EventKind::operation_completed;
  EXPECT_EQ(jobs_of(split_runs({waits, log})), Jobs{"unknown:2"}) << "of one who is waited for";
  waits.kind = EventKind::log_signature;
  EXPECT_EQ(jobs_of(split_runs({waits, log})), (Jobs{"unknown-1:1", "unknown-2:1"}));
}

TEST(Runs, JobsThatFilesNameAreToldApartWhateverTheTime) {
  EXPECT_EQ(jobs_of(split_runs({line("slurm-1.out", seconds{0}, "1"),
                                line("slurm-2.out", seconds{1}, "2"),
                                line("slurm-1.err", hours{3}, "1")})),
            (Jobs{"1:2", "2:1"}));
}

TEST(Runs, TheSameRankInAnotherFolderIsAnotherRun) {
  const auto runs = split_runs({line("a/rank0.log", seconds{0}, "unknown", 0),
                                line("a/rank1.log", seconds{1}, "unknown", 1),
                                line("b/rank0.log", seconds{2}, "unknown", 0),
                                line("b/rank1.log", seconds{3}, "unknown", 1)});
  EXPECT_EQ(jobs_of(runs), (Jobs{"unknown-1:2", "unknown-2:2"}));
}

TEST(Runs, TheSameRankUnderAnotherRunsNameIsAnotherRun) {
  const auto runs = split_runs({line("kill-rank0.log", seconds{0}, "unknown", 0),
                                line("kill-rank1.log", seconds{1}, "unknown", 1),
                                line("hang-rank0.log", seconds{2}, "unknown", 0),
                                line("hang-rank1.log", seconds{3}, "unknown", 1),
                                line("hang-torchrun.txt", seconds{4})});
  EXPECT_EQ(jobs_of(runs), (Jobs{"unknown-1:2", "unknown-2:3"}));
}

TEST(Runs, WhatLiesBesideARunIsItsOwnHoweverCloseAnotherIsInTime) {
  const auto runs = split_runs({line("a/rank0.log", seconds{10}, "unknown", 0),
                                line("b/rank0.log", seconds{20}, "unknown", 0),
                                line("b/torchrun.txt", seconds{10}),
                                line("a/traces/rank_0", seconds{21}, "unknown", 0)});
  ASSERT_EQ(jobs_of(runs), (Jobs{"unknown-1:2", "unknown-2:2"}));
  EXPECT_EQ(runs.runs[0].files, (std::vector<std::string>{"a/rank0.log", "a/traces/rank_0"}));
}

TEST(Runs, LocalRanksOfTwoHostsAreOneRun) {
  const auto runs = split_runs({line("n1-rank0.log", seconds{0}, "unknown", 0),
                                line("n2-rank0.log", seconds{1}, "unknown", 0)});
  EXPECT_EQ(jobs_of(runs), Jobs{"unknown:2"});
}

TEST(Runs, OutputAndErrorsOfARankAreOneRun) {
  const auto runs = split_runs(
      {line("rank0.out", seconds{0}, "unknown", 0), line("rank0.err", seconds{2}, "unknown", 0)});
  EXPECT_EQ(jobs_of(runs), Jobs{"unknown:2"});
}

Event kernel_line(Duration after) {
  Event kernel = line("dmesg", after);
  kernel.source = EventSource::kernel_log;
  kernel.attempt.reset();
  return kernel;
}

TEST(Runs, WhatNodesSayConcernsAll) {
  Runs all = split_runs({line("a.log", seconds{0}), line("b.log", hours{5}),
                         kernel_line(seconds{5}), kernel_line(hours{900})});
  ASSERT_EQ(all.runs.size(), 2U);
  for (auto& run : all.runs) EXPECT_EQ(events_of(run, all).size(), 3U);
}

TEST(Runs, AmongManyRunsNodesAreHeardAroundEach) {
  std::vector<Event> events;
  for (std::size_t i = 0; i <= runs_with_history_max; ++i) {
    const std::string job = std::to_string(i);
    events.push_back(line("slurm-" + job + ".out", hours{48 * i}, job));
  }
  for (const Duration after :
       {Duration{-history_before}, Duration{history_after}, Duration{history_after + seconds{1}}})
    events.push_back(kernel_line(hours{48} + after));
  events.push_back(kernel_line(seconds{0}));
  events.back().observed_at = Instant{};  // nobody knows when: it concerns all
  Runs all = split_runs(std::move(events));
  EXPECT_EQ(events_of(all.runs[0], all).size(), 2U);
  EXPECT_EQ(events_of(all.runs[1], all).size(), 4U);
  EXPECT_EQ(events_of(all.runs[3], all).size(), 2U);
}

TEST(Runs, TheOnlyJobOfTheSchedulerIsTheJob) {
  Event started = line("sacct.txt", seconds{0}, "42");
  started.source = EventSource::scheduler;
  started.kind = EventKind::attempt_started;
  started.attempt = AttemptId{"42", 1};
  const auto runs = split_runs({line("out.log", seconds{10}, "unknown", 3), std::move(started)});
  ASSERT_EQ(runs.runs.size(), 1U);
  EXPECT_EQ(runs.runs[0].attempt, (AttemptId{"42", 1}));
  EXPECT_EQ(runs.runs[0].events[0].subject.attempt, (AttemptId{"42", 1}));
}

}  // namespace
}  // namespace faultline
