#include "trace/ring_setup.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "trace/faultline_trace.h"
#include "trace/identity.h"
#include "trace/ring_folder.h"

namespace faultline::trace {
namespace {

namespace fs = std::filesystem;

/// A child of its own for each test: a process has one black box, for good.
class RingSetupTest : public testing::Test {
 protected:
  RingSetupTest() : folder_(fs::temp_directory_path() / ("rings-" + std::to_string(::getpid()))) {
    ::setenv("FAULTLINE_RING_DIR", folder_.c_str(), 1);
    ::setenv("FAULTLINE_JOB", "47/11", 1);
    ::setenv("RANK", "3", 1);
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "FAULTLINE_TRACE"})
      ::unsetenv(name);
  }
  ~RingSetupTest() override { fs::remove_all(folder_); }
  /// What the child answers: its exit code.
  template <class Work>
  static int in_child(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    if (fs::exists(folder_))
      count = static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
    return count;
  }

  const fs::path folder_;
};

int begin() { return -faultline_trace_start("test 1.0"); }

TEST_F(RingSetupTest, AFileSaysWhoseItIs) {
  EXPECT_EQ(in_child([] {
              if (begin() != 0) return 10;
              const ringfmt::Header& header = process_writer()->mapped->header;
              const std::string path = faultline_trace_path();
              const bool named =
                  path.find("/47_11-3-" + std::to_string(::getpid()) + "-") != std::string::npos;
              const bool good = header.magic == ringfmt::ring_magic && header.rank == 3 && named &&
                                std::string(header.job) == "47/11" &&
                                header.pid == static_cast<std::uint32_t>(::getpid()) &&
                                header.process_start != 0 && header.ticks_per_second > 1'000'000 &&
                                std::string(header.library) == "test 1.0" &&
                                header.anchors_written == 1;
              struct stat facts {};
              if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & 0777) != 0600) return 11;
              return good && facts.st_size == static_cast<off_t>(ringfmt::ring_bytes) ? 0 : 12;
            }),
            0);
  EXPECT_EQ(files(), 1U);
}

TEST_F(RingSetupTest, LibrariesOfOneProcessShareIt) {
  EXPECT_EQ(in_child([] {
              if (begin() != 0 || begin() != 0) return 10;
              faultline_trace_stop();
              if (faultline_trace_is_on() != 1) return 11;
              faultline_trace_stop();
              if (faultline_trace_is_on() != 0) return 12;
              if (process_writer()->mapped->header.state !=
                  static_cast<std::uint32_t>(ringfmt::RingState::finished))
                return 13;
              if (begin() != 0 || faultline_trace_is_on() != 1) return 14;
              return process_writer()->mapped->header.state ==
                             static_cast<std::uint32_t>(ringfmt::RingState::active)
                         ? 0
                         : 15;
            }),
            0);
  EXPECT_EQ(files(), 1U);
}

TEST_F(RingSetupTest, AForkedChildWritesNowhereUntilItHasOneOfItsOwn) {
  EXPECT_EQ(
      in_child([] {
        if (begin() != 0) return 10;
        faultline_communicator_facts facts{};
        facts.size = sizeof facts;
        const auto world = faultline_communicator_open(&facts);
        faultline_operation_facts operation{};
        operation.size = sizeof operation;
        const auto handle = faultline_operation_start(world, &operation);
        if (world == 0 || handle == 0) return 11;
        const ringfmt::Ring* mine = process_writer()->mapped;
        const int child = in_child([&] {
          if (faultline_trace_is_on() != 0 || faultline_operation_start(world, &operation) != 0)
            return 20;
          faultline_operation_finish(handle, FAULTLINE_DONE);
          faultline_trace_stop();
          if (begin() != 0 || process_writer()->mapped == mine) return 21;
          return faultline_communicator_open(&facts) != 0 ? 0 : 22;
        });
        if (child != 0) return child;
        return mine->communicators[0].started == 1 && mine->communicators[0].finished == 0 &&
                       faultline_trace_is_on() == 1
                   ? 0
                   : 12;
      }),
      0);
  EXPECT_EQ(files(), 2U);
}

TEST_F(RingSetupTest, BeforeTheStartAllCallsDoNothing) {
  EXPECT_EQ(in_child([] {
              faultline_trace_stop();
              faultline_trace_anchor(1);
              faultline_operation_finish(1, 0);
              faultline_wait_end(faultline_peer_find(1, 1), 0, faultline_wait_begin(1, 0));
              return faultline_communicator_open(nullptr) == 0 && faultline_trace_is_on() == 0 ? 0
                                                                                               : 1;
            }),
            0);
}

TEST_F(RingSetupTest, CallsThatMakeNoSenseAreCounted) {
  EXPECT_EQ(in_child([] {
              if (begin() != 0) return 10;
              faultline_communicator_facts facts{};
              faultline_communicator_open(nullptr);
              faultline_communicator_open(&facts);
              faultline_operation_start(1, nullptr);
              faultline_operation_finish(1, 9);
              faultline_wait_begin(1, 6);
              faultline_wait_end(1, -1, 1);
              faultline_transfer_count(1, 4);
              const auto& drops = process_writer()->mapped->header.drops;
              return static_cast<int>(drops[static_cast<std::uint32_t>(ringfmt::Drop::bad_calls)]);
            }),
            7);
}

TEST_F(RingSetupTest, WhereItMayNotItDoesNot) {
  ::setenv("FAULTLINE_TRACE", "off", 1);
  EXPECT_EQ(in_child(begin), -FAULTLINE_SWITCHED_OFF);
  ::unsetenv("FAULTLINE_TRACE");
  ::setenv("FAULTLINE_RING_DIR", "/proc/no/such", 1);
  EXPECT_EQ(in_child(begin), -FAULTLINE_NO_FOLDER);
  // Others could put files there in our name.
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::all);
  ::setenv("FAULTLINE_RING_DIR", folder_.c_str(), 1);
  EXPECT_EQ(in_child(begin), -FAULTLINE_NO_FOLDER);
  fs::remove(folder_);
  const fs::path there = folder_.string() + ".there";
  fs::create_directory(there);
  fs::create_directory_symlink(there, folder_);
  EXPECT_EQ(in_child(begin), -FAULTLINE_NO_FOLDER);
  fs::remove(there);
}

TEST_F(RingSetupTest, FilesOfTheDeadAreBoundedAndThoseOfOthersAreLeftAlone) {
  ringfmt::Header me{};
  fill_identity(me);
  fs::create_directory(folder_);
  const auto touch = [&](const std::string& name) { std::ofstream(folder_ / name) << "x"; };
  const std::string ours = std::to_string(me.pid_namespace);
  for (int i = 0; i < 100; ++i)
    touch("1-0-99999999-" + std::to_string(1000 + i) + "-" + ours + "-0.ring");
  touch("1-0-99999999-1-1-0.ring");  // of another namespace: who knows
  touch("notes.txt");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(in_child(begin), 0);
  EXPECT_TRUE(fs::exists(folder_ / "1-0-99999999-1-1-0.ring"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_LE(files(), ringfmt::stale_files_max + 3U);
  EXPECT_FALSE(fs::exists(folder_ / ("1-0-99999999-1000-" + ours + "-0.ring")))
      << "the oldest go first";
  for (std::uint32_t i = 0; i < ringfmt::folder_files_max; ++i) touch("x" + std::to_string(i));
  EXPECT_EQ(in_child(begin), -FAULTLINE_FOLDER_FULL);
}

}  // namespace
}  // namespace faultline::trace
