// The NCCL plugin, driven as NCCL drives it: what lies in the black box afterwards. Each story is
// told in a process of its own, since a process has one black box.

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "adapters/rings/ring_file.h"
#include "ringfmt/ring_layout.h"
#include "tests/black_box/other_profiler.h"
#include "tests/fixtures/nccl_driver.h"
#include "trace/faultline_trace.h"

extern "C" {
extern faultline::nccl::Plugin<faultline::nccl::InitV1> ncclProfiler_v1, ncclProfiler_v2,
    ncclProfiler_v3;
extern faultline::nccl::Plugin<faultline::nccl::InitV4> ncclProfiler_v4;
extern faultline::nccl::Plugin<faultline::nccl::InitV5> ncclProfiler_v5, ncclProfiler_v6,
    ncclProfiler_v7;
}

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

template <int version>
auto& plugin() {
  if constexpr (version == 1) return ncclProfiler_v1;
  if constexpr (version == 2) return ncclProfiler_v2;
  if constexpr (version == 3) return ncclProfiler_v3;
  if constexpr (version == 4) return ncclProfiler_v4;
  if constexpr (version == 5) return ncclProfiler_v5;
  if constexpr (version == 6) return ncclProfiler_v6;
  if constexpr (version == 7) return ncclProfiler_v7;
}

class NcclProfilerTest : public testing::Test {
 protected:
  NcclProfilerTest() : folder_(fs::temp_directory_path() / ("nccl-" + std::to_string(::getpid()))) {
    ::setenv("FAULTLINE_RING_DIR", folder_.c_str(), 1);
    for (const char* name : {"FAULTLINE_TRACE", "FAULTLINE_NCCL_CHAIN"}) ::unsetenv(name);
  }
  ~NcclProfilerTest() override { fs::remove_all(folder_); }

  /// What the black box says after `story`, which answers 0 if it went as it should.
  template <class Story>
  RingSnapshot after(const Story& story) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(story());
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    const auto files = rings_in(folder_);
    if (!files || files->empty()) return {};
    auto snapshot = read_ring_file(files->front());
    EXPECT_TRUE(snapshot);
    return snapshot ? *snapshot : RingSnapshot{};
  }

  const fs::path folder_;
};

std::uint64_t dropped(const RingSnapshot& ring, std::string_view what) {
  for (const auto& [name, count] : ring.drops)
    if (name == what) return static_cast<std::uint64_t>(count);
  return 0;
}

// --- every version
// -----------------------------------------------------------------------------------------

template <class>
class EveryVersionTest : public NcclProfilerTest {};
template <int number>
using V = std::integral_constant<int, number>;
using Versions = testing::Types<V<1>, V<2>, V<3>, V<4>, V<5>, V<6>, V<7>>;
TYPED_TEST_SUITE(EveryVersionTest, Versions);

TYPED_TEST(EveryVersionTest, CollectivesAreRecorded) {
  constexpr int version = TypeParam::value;
  const RingSnapshot ring = this->after([] {
    NcclDriver<version> driver(plugin<version>());
    if (driver.init() != 0) return 1;
    driver.run_collective("AllReduce", 4096, 2);
    driver.run_collective("AllReduce", 8192, 2);
    return driver.finalize();
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  const RingCommunicator& of = ring.communicators.front();
  EXPECT_EQ(of.id, CommunicatorOfNccl{}.id);
  EXPECT_EQ(of.name, "dp");
  EXPECT_EQ(of.rank, 2);
  EXPECT_EQ(of.rank_count, version >= 4 ? 4 : -1);
  EXPECT_FALSE(of.is_open);
  EXPECT_THAT(of.in_flight, IsEmpty());
  ASSERT_THAT(of.completed, SizeIs(2));
  const RingOperation& newest = of.completed.front();
  EXPECT_EQ(newest.sequence, 1U);
  EXPECT_EQ(newest.kind, "all_reduce");
  EXPECT_EQ(newest.data_type, "float32");
  EXPECT_EQ(newest.algorithm, "ring");
  EXPECT_EQ(newest.protocol, "simple");
  EXPECT_EQ(newest.count, 8192U);
  EXPECT_EQ(newest.peer, -1);
  EXPECT_EQ(newest.outcome, version >= 3 ? "done" : "launched");
  EXPECT_EQ(newest.channels, version >= 3 ? 2U : 0U);
  EXPECT_EQ(newest.gpu_last_stop_ns, version >= 4 ? 2000U : 0U);
  EXPECT_EQ(newest.gpu_first_start_ns, version >= 4 ? 1000U : 0U);
  EXPECT_EQ(dropped(ring, "late_calls") + dropped(ring, "disorder"), 0U);
}

TYPED_TEST(EveryVersionTest, TransfersAreNumberedByPeerAndDirection) {
  constexpr int version = TypeParam::value;
  const RingSnapshot ring = this->after([] {
    NcclDriver<version> driver(plugin<version>());
    if (driver.init() != 0) return 1;
    const auto run = [&](const char* func, int peer) {
      void* task = driver.start_p2p(func, peer, 64, 4);
      driver.stop(task);
      if (version >= 3) driver.stop_kernel(driver.start_kernel(task, 5, 10), 20);
    };
    run("Send", 3);
    run("Send", 1);
    run("Recv", 3);
    run("Send", 3);
    return 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  EXPECT_THAT(ring.communicators[0].in_flight, IsEmpty());
  ASSERT_THAT(ring.communicators[0].completed, SizeIs(4));
  const auto& of = ring.communicators[0].completed;
  EXPECT_EQ(of[0].sequence, 1U);
  EXPECT_EQ(of[0].kind, "send");
  EXPECT_EQ(of[0].peer, 3);
  EXPECT_EQ(of[0].data_type, "bfloat16");
  EXPECT_EQ(of[1].kind, "receive");
  EXPECT_EQ(of[1].sequence, 0U);
  EXPECT_EQ(of[2].sequence, 0U);
  ASSERT_THAT(ring.peers, SizeIs(2));
  const RingPeer& three = ring.peers[0].rank == 3 ? ring.peers[0] : ring.peers[1];
  EXPECT_EQ(three.sends_started, 2U);
  EXPECT_EQ(three.sends_finished, 2U);
  EXPECT_EQ(three.receives_finished, 1U);
}

// --- who hangs, and where
// -----------------------------------------------------------------------------------

TEST_F(NcclProfilerTest, WhatHangsStaysToBeSeen) {
  const RingSnapshot ring = after([] {
    NcclDriver<5> driver(ncclProfiler_v5);
    if (driver.init() != 0) return 1;
    driver.run_collective("AllReduce", 1, 2);
    void* running = driver.start_collective("AllGather", 7, 2);
    driver.stop(running);
    driver.start_kernel(running, 0, 100);
    void* half = driver.start_kernel(running, 1, 100);
    driver.stop_kernel(half, 200);
    driver.stop(driver.start_collective("ReduceScatter", 8, 2));
    driver.start_collective("Broadcast", 9, 2);
    return 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  const auto& in_flight = ring.communicators[0].in_flight;
  ASSERT_THAT(in_flight, SizeIs(3));
  EXPECT_EQ(in_flight[0].phase, OperationPhase::running);
  EXPECT_EQ(in_flight[0].channels_started, 2U);
  EXPECT_EQ(in_flight[0].channels_stopped, 1U);
  EXPECT_EQ(in_flight[1].phase, OperationPhase::enqueued);
  EXPECT_EQ(in_flight[2].phase, OperationPhase::called);
  EXPECT_EQ(in_flight[2].peer, 0) << "a broadcast has a root";
}

TEST_F(NcclProfilerTest, WhatHasNoKernelEndsWithItsLaunch) {
  const RingSnapshot ring = after([] {
    NcclDriver<6> driver(ncclProfiler_v6);
    if (driver.init() != 0) return 1;
    driver.stop(driver.start_p2p("Send", 2, 64));  // to itself
    driver.stop(driver.start_p2p("Recv", 1, 0));   // of nothing
    nccl::Descriptor event{};
    event.copy_collective.func = "AllGather";
    event.copy_collective.count = 5;
    driver.stop(driver.start(nccl::event_copy_collective, event));
    driver.mask &= ~nccl::event_kernel_channel;  // NCCL's RAS can
    driver.stop(driver.start_collective("AllReduce", 6, 2));
    return 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  EXPECT_THAT(ring.communicators[0].in_flight, IsEmpty());
  ASSERT_THAT(ring.communicators[0].completed, SizeIs(4));
  for (const RingOperation& one : ring.communicators[0].completed)
    EXPECT_EQ(one.outcome, "launched") << one.kind;
}

// --- what should not be, and is
// -----------------------------------------------------------------------------

TEST_F(NcclProfilerTest, OrderIsNotReliedUpon) {
  const RingSnapshot ring = after([] {
    NcclDriver<4> driver(ncclProfiler_v4);
    if (driver.init() != 0) return 1;
    void* task = driver.start_collective("AllReduce", 1, 2);
    void* first = driver.start_kernel(task, 0, 10);
    driver.stop(first);  // no state said when
    void* second = driver.start_kernel(task, 1, 10);
    driver.record(second, nccl::state_kernel_channel_stop);  // without arguments
    driver.stop(second);
    driver.stop(task);    // the launch comes back after its end
    driver.stop(second);  // twice
    nccl::StateArguments arguments{99};
    driver.record(second, nccl::state_kernel_channel_stop, &arguments);  // after its end
    driver.start_kernel(task, 0, 11);                                    // late
    driver.start_kernel(nullptr, 0, 11);
    driver.start_kernel(task, 200, 11);  // no such channel
    driver.stop(nullptr);
    driver.record(nullptr, 1);
    if (driver.finalize() != 0 || driver.finalize() != 0) return 2;
    driver.stop(task);
    driver.stop_kernel(second, 5);
    return driver.start_collective("AllReduce", 1, 1) == nullptr ? 3 : 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  ASSERT_THAT(ring.communicators[0].completed, SizeIs(1));
  EXPECT_EQ(ring.communicators[0].finished, 1U);
  EXPECT_EQ(ring.communicators[0].completed[0].gpu_last_stop_ns, 0U);
  EXPECT_GT(dropped(ring, "late_calls"), 0U);
}

TEST_F(NcclProfilerTest, HandlesFromNowhereDoNothing) {
  const RingSnapshot ring = after([] {
    NcclDriver<7> driver(ncclProfiler_v7);
    if (driver.init() != 0) return 1;
    std::uint64_t state = 88172645463325252U;
    for (int round = 0; round < 20000; ++round) {
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;
      void* wild = reinterpret_cast<void*>(state);  // NOLINT(performance-no-int-to-ptr)
      nccl::Descriptor event{};
      event.parent = wild;
      const std::uint64_t type = std::uint64_t{1} << (state % 20U);
      if (type == nccl::event_kernel_channel)
        event.kernel_channel.channel = static_cast<std::uint8_t>(state >> 32U);
      void* handle = driver.start(type, event);
      if (handle == nullptr) return 2;
      driver.record(wild, static_cast<int>(state % 40U));
      driver.stop(wild);
      driver.stop(handle);
    }
    return 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  EXPECT_THAT(ring.problems, IsEmpty());
}

TEST_F(NcclProfilerTest, MoreCommunicatorsThanThereArePlaces) {
  const RingSnapshot ring = after([] {
    int recorded = 0;
    std::vector<NcclDriver<5>> drivers(200, NcclDriver<5>(ncclProfiler_v5));
    for (auto& driver : drivers) recorded += driver.init() == 0 ? 1 : 0;
    for (auto& driver : drivers) driver.run_collective("AllReduce", 1, 1);
    return recorded == static_cast<int>(drivers.size()) ? 0 : 1;
  });
  EXPECT_THAT(ring.communicators, SizeIs(128));
  EXPECT_GT(dropped(ring, "communicators"), 0U);
}

TEST_F(NcclProfilerTest, SwitchedOffNcclGoesOnAlone) {
  ::setenv("FAULTLINE_TRACE", "off", 1);
  after([] {
    NcclDriver<5> driver(ncclProfiler_v5);
    return driver.init() == 0 ? 1 : 0;
  });
  EXPECT_FALSE(fs::exists(folder_) && !fs::is_empty(folder_));
  ::unsetenv("FAULTLINE_TRACE");
}

// --- steps, on suspicion
// ------------------------------------------------------------------------------------

void ask_for_steps(std::uint32_t operations) {
  const int file = ::open(faultline_trace_path(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(::pwrite(file, &operations, sizeof operations, offsetof(ringfmt::Header, steps_wanted)),
            static_cast<ssize_t>(sizeof operations));
  ::close(file);
}

TEST_F(NcclProfilerTest, StepsAreRecordedForAsLongAsSomebodyAsks) {
  const RingSnapshot ring = after([] {
    constexpr int steps = nccl::event_proxy_op | nccl::event_proxy_step;
    NcclDriver<5> driver(ncclProfiler_v5);
    if (driver.init() != 0 || (driver.mask & steps) != 0) return 1;
    ask_for_steps(2);
    void* task = driver.start_collective("AllReduce", 1, 1);
    if ((driver.mask & steps) != steps) return 2;
    void* proxy = driver.start_proxy_op(task, 3, true, ::getpid());
    void* step = driver.start_step(proxy);
    driver.record(step, nccl::state_send_gpu_wait);
    driver.record(step, nccl::state_send_gpu_wait);  // said twice
    driver.record(step, nccl::state_send_peer_wait);
    driver.record(step, nccl::state_send_wait);
    driver.stop(step);
    driver.stop(step);
    void* stuck = driver.start_step(driver.start_proxy_op(task, 1, false, ::getpid()));
    driver.record(stuck, nccl::state_receive_wait);
    driver.start_step(driver.start_proxy_op(task, 0, true, ::getpid() + 1));  // another's
    driver.start_collective("AllReduce", 1, 1);
    if ((driver.mask & steps) != steps) return 3;
    driver.start_collective("AllReduce", 1, 1);
    return (driver.mask & steps) == 0 ? 0 : 4;
  });
  ASSERT_THAT(ring.peers, SizeIs(2));
  const RingPeer& to = ring.peers[0].rank == 3 ? ring.peers[0] : ring.peers[1];
  const RingPeer& from = ring.peers[0].rank == 3 ? ring.peers[1] : ring.peers[0];
  EXPECT_EQ(from.rank, 1);
  for (const int kind : {0, 1, 2}) {
    EXPECT_EQ(to.waits[kind].ended, 1U) << kind;
    EXPECT_EQ(to.waits[kind].open, 0U) << kind;
  }
  EXPECT_EQ(from.waits[3].open, 1U);
}

// --- another plugin behind ours
// -----------------------------------------------------------------------------

OtherProfilerLog* open_other(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW);
  auto* log =
      library == nullptr
          ? nullptr
          : reinterpret_cast<OtherProfilerLog* (*)()>(::dlsym(library, "other_profiler_log"));
  return log == nullptr ? nullptr : log();
}

/// A group, a collective in it, and its kernels.
template <int version>
void run_group(NcclDriver<version>& driver) {
  void* group = driver.start(nccl::event_group);
  void* api = version >= 5 ? driver.start(nccl::event_collective_api) : group;
  nccl::Descriptor event{};
  event.parent = api;
  event.collective.func = "AllReduce";
  event.collective.channel_count = 1;
  if (version >= 5) event.collective.parent_group = group;
  void* task = driver.start(nccl::event_collective, event);
  driver.stop(task);
  driver.stop(group);
  driver.stop_kernel(driver.start_kernel(task, 0, 10), 77);
}

TEST_F(NcclProfilerTest, AnotherPluginIsToldWhatItAsksFor) {
  for (const char* other : {FAULTLINE_OTHER_PROFILER_4, FAULTLINE_OTHER_PROFILER_5}) {
    fs::remove_all(folder_);
    const bool is_older = std::string_view(other) == FAULTLINE_OTHER_PROFILER_4;
    const RingSnapshot ring = after([&] {
      ::setenv("FAULTLINE_NCCL_CHAIN", other, 1);
      OtherProfilerLog* seen = open_other(other);
      if (seen == nullptr) return 1;
      seen->mask = 0xffff & ~nccl::event_proxy_control;
      NcclDriver<5> driver(ncclProfiler_v5);
      if (driver.init() != 0 || seen->inits != 1) return 2;
      run_group(driver);
      if (driver.finalize() != 0 || seen->finalized != 1) return 3;
      if (seen->strangers != 0 || seen->kernels_of_collectives != 1) return 4;
      if (seen->starts != (is_older ? 3U : 4U) || seen->gpu_ns != 77) return 5;
      if (seen->stops != 3 || (is_older && seen->types > 0xff)) return 6;
      return seen->collectives_of_groups == (is_older ? 1U : 0U) ? 0 : 7;
    });
    ASSERT_THAT(ring.communicators, SizeIs(1)) << other;
    EXPECT_THAT(ring.communicators[0].completed, SizeIs(1)) << other;
  }
}

TEST_F(NcclProfilerTest, AnotherPluginHearsNothingElse) {
  after([] {
    ::setenv("FAULTLINE_NCCL_CHAIN", FAULTLINE_OTHER_PROFILER_5, 1);
    OtherProfilerLog* seen = open_other(FAULTLINE_OTHER_PROFILER_5);
    seen->mask = nccl::event_group_api;
    NcclDriver<7> driver(ncclProfiler_v7);
    if (driver.init() != 0) return 1;
    if ((driver.mask & nccl::event_group_api) == 0) return 2;
    run_group(driver);
    driver.start(nccl::event_group_api);
    return seen->starts == 1 && seen->types == nccl::event_group_api ? 0 : 3;
  });
}

TEST_F(NcclProfilerTest, AnotherPluginAloneWhereWeAreOff) {
  ::setenv("FAULTLINE_TRACE", "off", 1);
  after([] {
    ::setenv("FAULTLINE_NCCL_CHAIN", FAULTLINE_OTHER_PROFILER_5, 1);
    OtherProfilerLog* seen = open_other(FAULTLINE_OTHER_PROFILER_5);
    NcclDriver<5> driver(ncclProfiler_v5);
    if (driver.init() != 0) return 1;
    run_group(driver);
    return seen->kernels_of_collectives == 1 && seen->strangers == 0 ? 0 : 2;
  });
  ::unsetenv("FAULTLINE_TRACE");
}

TEST_F(NcclProfilerTest, APluginThatCannotBeChainedIsLeftOut) {
  for (const char* other :
       {"/nonexistent.so", "no-such-plugin", FAULTLINE_NCCL_PLUGIN, FAULTLINE_OTHER_PROFILER_5}) {
    fs::remove_all(folder_);
    const RingSnapshot ring = after([&] {
      ::setenv("FAULTLINE_NCCL_CHAIN", other, 1);
      // Version 5 alone cannot speak to an NCCL of version 4.
      NcclDriver<4> driver(ncclProfiler_v4);
      if (driver.init() != 0) return 1;
      driver.run_collective("AllReduce", 1, 1);
      return 0;
    });
    ASSERT_THAT(ring.communicators, SizeIs(1)) << other;
    EXPECT_THAT(ring.communicators[0].completed, SizeIs(1)) << other;
  }
}

TEST_F(NcclProfilerTest, APluginThatRefusesACommunicatorHearsNothingOfIt) {
  after([] {
    ::setenv("FAULTLINE_NCCL_CHAIN", FAULTLINE_OTHER_PROFILER_5, 1);
    OtherProfilerLog* seen = open_other(FAULTLINE_OTHER_PROFILER_5);
    seen->refuses = true;
    NcclDriver<5> driver(ncclProfiler_v5);
    if (driver.init() != 0) return 1;
    run_group(driver);
    return driver.finalize() == 0 && seen->starts == 0 && seen->finalized == 0 ? 0 : 2;
  });
}

// --- as many threads as NCCL has
// ------------------------------------------------------------------------------

TEST_F(NcclProfilerTest, TheProxyThreadTellsTheChannels) {
  constexpr std::uint64_t rounds = 20000;
  const RingSnapshot ring = after([] {
    NcclDriver<5> driver(ncclProfiler_v5);
    if (driver.init() != 0) return 1;
    std::atomic<void*> handed{nullptr};
    std::jthread proxy([&] {
      for (std::uint64_t seen = 0; seen < rounds; ++seen) {
        void* task = nullptr;
        while ((task = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
        void* kernels[2] = {driver.start_kernel(task, 0, seen), driver.start_kernel(task, 1, seen)};
        driver.stop_kernel(kernels[1], seen + 1);
        driver.stop_kernel(kernels[0], seen + 2);
      }
    });
    for (std::uint64_t round = 0; round < rounds; ++round) {
      void* task = driver.start_collective("AllReduce", round, 2);
      driver.stop(task);
      while (handed.load() != nullptr) std::this_thread::yield();
      handed.store(task);
    }
    return 0;
  });
  ASSERT_THAT(ring.communicators, SizeIs(1));
  EXPECT_EQ(ring.communicators[0].finished, rounds);
  EXPECT_THAT(ring.communicators[0].in_flight, IsEmpty());
  EXPECT_THAT(ring.drops, IsEmpty());
  EXPECT_THAT(ring.problems, IsEmpty());
}

// --- the file that is shipped
// -------------------------------------------------------------------------------

TEST_F(NcclProfilerTest, TheLibraryIsLoadedAsNcclDoesIt) {
  const RingSnapshot ring = after([] {
    for (int round = 0; round < 2; ++round) {  // its last communicator closes it, the next loads it
      void* library = ::dlopen(FAULTLINE_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) return 1;
      for (int version = 1; version <= 7; ++version)
        if (::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()) == nullptr)
          return 2;
      auto* table = static_cast<nccl::Plugin<nccl::InitV5>*>(::dlsym(library, "ncclProfiler_v6"));
      NcclDriver<6> driver(*table);
      if (driver.init() != 0) return 3;
      driver.run_collective("AllReduce", 1, 16);
      if (driver.finalize() != 0) return 4;
      ::dlclose(library);
    }
    return 0;
  });
  EXPECT_EQ(ring.identity.library, "nccl");
  ASSERT_THAT(ring.communicators, SizeIs(2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "one black box a process";
}

}  // namespace
}  // namespace faultline
