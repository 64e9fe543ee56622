// What the agent tells in the usual course of things.
#include "agent/runtime_fixture.h"

namespace faultline {
namespace {

TEST_F(RuntimeTest, SaysHelloAndBeatsOnceASecond) {
  run_for(seconds{5});
  ASSERT_EQ(uplink_.of(EventKind::agent_started).size(), 1U);
  ASSERT_EQ(uplink_.of(EventKind::node_boot).size(), 1U);
  EXPECT_EQ(uplink_.got.front().reporter, "n3");
  EXPECT_EQ(uplink_.heartbeats, 5);
}

TEST_F(RuntimeTest, KernelLineBecomesAnEventLinkedToTheJobOfItsProcess) {
  processes_.origins[555] = {"88", 3, 0, 1000};
  run_for(seconds{1});
  xid(555);
  run_for(seconds{1});
  const auto events = uplink_.of(EventKind::log_signature);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(events[0].attempt, (AttemptId{"88", 3}));
  EXPECT_EQ(events[0].field("linked_job"), "88");
}

TEST_F(RuntimeTest, ProcessOfNoJobStaysUnlinked) {
  run_for(seconds{1});
  xid(556);
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
  EXPECT_FALSE(uplink_.of(EventKind::log_signature)[0].attempt);
}

TEST_F(RuntimeTest, OneEventThatIsRefusedDoesNotStopTheOthers) {
  run_for(seconds{1});
  uplink_.down = true;
  for (int i = 0; i < 5; ++i) {
    xid(200 + i);
    run_for(seconds{6});
  }
  uplink_.poison = "202";
  uplink_.down = false;
  run_for(seconds{15});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 4U);
  EXPECT_EQ(counters_.get("agent_events_refused_total"), 1U);
}

TEST_F(RuntimeTest, GapOfASourceIsTold) {
  run_for(seconds{1});
  kernel_.gap = GapReason::overrun;
  run_for(seconds{1});
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "overrun");
}

TEST_F(RuntimeTest, GpusAreSampledRarelyAndLinkedToKernelLines) {
  GpuSample gpu;
  gpu.pci_address = "00000000:3B:00.0";
  gpu.uuid = "GPU-1";
  gpu.serial = "S1";
  gpu.ecc_uncorrected_total = 0;
  gpus_.next = std::vector<GpuSample>{gpu};
  run_for(seconds{25});
  EXPECT_EQ(gpus_.calls, 3);
  EXPECT_EQ(uplink_.of(EventKind::gpu_identity).size(), 1U);
  EXPECT_TRUE(uplink_.of(EventKind::gpu_sample).empty());
  xid(1);
  run_for(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature)[0].field("gpu_serial"), "S1");
}

TEST_F(RuntimeTest, NodeWithoutNvmlIsAskedEveryFiveMinutes) {
  gpus_.next = Error{ErrorCode::not_found, "none"};
  run_for(seconds{301});
  EXPECT_EQ(gpus_.calls, 2);
}

TEST_F(RuntimeTest, HangingDriverIsToldOnce) {
  gpus_.next = Error{ErrorCode::deadline_exceeded, "hangs"};
  run_for(seconds{60});
  ASSERT_EQ(uplink_.of(EventKind::source_gap).size(), 1U);
  EXPECT_EQ(uplink_.of(EventKind::source_gap)[0].field("why"), "nvml_hung");
}

TEST_F(RuntimeTest, SleepsWhenThereIsNothingToDo) {
  run_for(seconds{2});
  int steps = 0;
  for (Duration end = clock_.monotonic() + seconds{10}; clock_.monotonic() < end; ++steps)
    clock_.advance(runtime_->step());
  EXPECT_LE(steps, 52) << "four polls of a file and one heartbeat a second";
}

TEST_F(RuntimeTest, StopSendsWhatThereIs) {
  run_for(seconds{1});
  xid(1);
  runtime_->stop(seconds{1});
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 1U);
}

TEST_F(RuntimeTest, ClockStepsNeitherSilenceTheNodeNorRepeatItsLines) {
  run_for(seconds{10});
  const int beats = uplink_.heartbeats;
  int pid = 0;
  for (const auto step : {std::chrono::hours{24}, std::chrono::hours{-72}}) {
    clock_.step_wall(clock_.now() + step);  // the second one to before the first start and the boot
    xid(++pid);
    run_for(seconds{10});
  }
  EXPECT_EQ(uplink_.of(EventKind::log_signature).size(), 2U);
  EXPECT_EQ(uplink_.heartbeats, beats + 20);
  for (const auto& [id, times] : uplink_.deliveries) EXPECT_EQ(times, 1) << id;
}

}  // namespace
}  // namespace faultline
