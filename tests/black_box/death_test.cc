// A writer is stopped three times and then killed, or crashes, at random moments, a thousand in
// all, and its black box is read each time.
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "adapters/rings/ring_file.h"
#include "adapters/rings/writer_life.h"
#include "base/rng.h"
#include "tests/fixtures/ring_story.h"
#include "trace/ring_setup.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using ringfmt::WaitKind;

/// One thread starts operations, another sees their channels and waits for a peer, as in NCCL.
[[noreturn]] void write_for_ever() {
  if (trace::start_ring("test") != trace::StartError::none) ::_exit(9);
  trace::Writer& writer = *trace::process_writer();
  trace::CommunicatorFacts facts;
  facts.rank = 0;
  facts.name = "world";
  const auto world = trace::open_communicator(writer, facts);
  std::atomic<trace::OperationHandle> handed{0};
  std::thread channels([&] {
    const auto peer = trace::find_peer(writer, world, 1);
    while (true) {
      const auto token = trace::begin_wait(writer, peer, WaitKind::receive_network);
      const trace::OperationHandle handle = handed.exchange(0);
      if (handle == 0) std::this_thread::yield();
      for (std::uint32_t i = 0; handle != 0 && i < 2; ++i)
        trace::start_channel(writer, handle, i, 100 + i);
      for (std::uint32_t i = 0; handle != 0 && i < 2; ++i)
        trace::stop_channel(writer, handle, i, 200 + i);
      trace::end_wait(writer, peer, WaitKind::receive_network, token);
    }
  });
  for (std::uint64_t sequence = 0;; ++sequence) {
    const auto handle = trace::start_operation(writer, world, StoryRing::facts_of(sequence, 2));
    trace::enqueue_operation(writer, handle);
    trace::close_communicator(writer, trace::open_communicator(writer, facts));
    while (handed.load() != 0) std::this_thread::yield();
    handed = handle;
  }
}

struct Tally {
  int read = 0;
  int too_early = 0;
  std::size_t whole_operations = 0;
};

void look_at(const fs::path& folder, pid_t child, WriterLife expected, Tally& tally) {
  const auto files = rings_in(folder);
  if (!files.ok() || files->empty()) {
    ++tally.too_early;
    return;
  }
  ASSERT_EQ(files->size(), 1U);
  const auto ring = read_ring_file(files->front());
  if (!ring.ok()) {
    // Cut off while it was made: nothing was recorded yet.
    ASSERT_TRUE(ring.error().code == ErrorCode::corrupt ||
                ring.error().code == ErrorCode::unavailable)
        << ring.error().message;
    ++tally.too_early;
    return;
  }
  ++tally.read;
  check_limits(*ring);
  ASSERT_EQ(mixtures_in(*ring, &tally.whole_operations), 0U);
  ASSERT_EQ(ring->identity.pid, static_cast<std::uint32_t>(child));
  ASSERT_EQ(life_of_writer(ring->identity), expected);
  for (const auto& [problem, count] : ring->problems) {
    // One operation, one communicator, in whose midst it was.
    ASSERT_EQ(problem, "half_written");
    ASSERT_LE(count, 2U);
  }
}

TEST(BlackBoxDeathTest, OutlivesItsWriterAThousandTimes) {
  const fs::path folder = fs::path("/dev/shm") / ("deaths-" + std::to_string(::getpid()));
  ::setenv("FAULTLINE_RING_DIR", folder.c_str(), 1);
  ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's would make a report of each
  Rng rng(20261201);
  Tally tally;
  // A start takes some 3 ms: now and then it is cut off in there, too.
  const auto strike = [&](pid_t child, int signal, std::uint64_t within_us) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(within_us)));
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    look_at(folder, child, signal == SIGSTOP ? WriterLife::stopped : WriterLife::ended, tally);
  };
  for (int turn = 0; turn < 250 && !HasFatalFailure(); ++turn) {
    const pid_t child = ::fork();
    if (child == 0) write_for_ever();
    strike(child, SIGSTOP, 8'000);
    for (int again = 0; again < 2; ++again) {
      ::kill(child, SIGCONT);
      strike(child, SIGSTOP, 1'000);
    }
    ::kill(child, SIGCONT);
    strike(child, turn % 2 == 0 ? SIGKILL : SIGSEGV, 1'000);
    fs::remove_all(folder);
  }
  EXPECT_EQ(tally.read + tally.too_early, 1000);
  EXPECT_GT(tally.read, 0);
  EXPECT_GT(tally.whole_operations, 0U);
  RecordProperty("read", tally.read);
}

}  // namespace
}  // namespace faultline
