// Jobs of up to 128 ranks in data, tensor and pipeline groups, each with one fault at a place drawn
// at random, played out by operation_job: whom do the traces accuse?

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"
#include "detect/stuck_operation.h"
#include "tests/cases/operation_job.h"

namespace faultline {
namespace {

constexpr std::uint64_t seed = 20261130;
constexpr int stories_each = 16;  // sixty of each held as well

std::string text_of(const JobStory& story) {
  const JobShape& shape = story.shape;
  return std::string(to_text(story.fault)) + " at rank " + std::to_string(story.rank) +
         ", its operation " + std::to_string(story.at) + " (" +
         operations_of(shape, story.rank)[static_cast<std::size_t>(story.at)] + "), data " +
         std::to_string(shape.data) + " tensor " + std::to_string(shape.tensor) + " pipeline " +
         std::to_string(shape.pipeline) + " ahead " + std::to_string(shape.ahead) + "+" +
         std::to_string(shape.ahead_jitter);
}

std::string text_of(const std::optional<StuckFinding>& finding) {
  if (!finding) return "nothing";
  std::string text(to_text(finding->kind));
  for (const auto rank : finding->ranks) text += " " + std::to_string(rank);
  text += " unread";
  for (const auto rank : finding->unread) text += " " + std::to_string(rank);
  return text + " " + finding->differs;
}

std::optional<StuckFinding> judge(const JobStory& story, OperationBoard& board, Rng& rng) {
  std::vector<Event> events = traces_of(story);
  // Files come in any order.
  for (std::size_t i = events.size(); i > 1; --i)
    std::swap(events[i - 1], events[static_cast<std::size_t>(rng.below(i))]);
  for (const Event& event : events) board.add(event);
  return find_stuck_operation(board);
}

enum class Where { anywhere, in_a_collective, in_a_transfer };

class Stories {
 public:
  explicit Stories(Rng& rng) : rng_(rng) {}

  JobStory draw(JobFault fault, Where where) {
    JobStory story;
    story.fault = fault;
    do {
      story.shape = draw_shape();
    } while (where == Where::in_a_transfer && story.shape.pipeline == 1);
    story.shape.ahead = 1 + below(6);
    story.shape.ahead_jitter = below(4);
    story.json = below(2) == 1;
    story.rank = below(story.shape.ranks());
    const auto operations = operations_of(story.shape, story.rank);
    do {
      story.at = below(static_cast<int>(operations.size()) - 1);
    } while (where != Where::anywhere &&
             is_transfer(operations[static_cast<std::size_t>(story.at)]) !=
                 (where == Where::in_a_transfer));
    return story;
  }

 private:
  static bool is_transfer(const std::string& operation) {
    return operation.find('>') != std::string::npos || operation.find('<') != std::string::npos;
  }
  int below(int limit) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(limit))); }
  JobShape draw_shape() {
    JobShape shape;
    do {
      shape.data = 1 << below(4);
      shape.tensor = 1 << below(4);
      shape.pipeline = 1 << below(3);
    } while (shape.ranks() < 4 || shape.ranks() > 128);
    return shape;
  }
  Rng& rng_;
};

TEST(DetectOperations, AJobThatEndsWellHasNothingStuck) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    const JobStory story = stories.draw(JobFault::none, Where::anywhere);
    OperationBoard board;
    EXPECT_EQ(text_of(judge(story, board, rng)), "nothing") << text_of(story);
  }
}

TEST(DetectOperations, WhoStopsIsNamedAndNobodyElse) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    const JobStory story = stories.draw(JobFault::stops, Where::anywhere);
    OperationBoard board;
    EXPECT_EQ(text_of(judge(story, board, rng)),
              "not_joined " + std::to_string(story.rank) + " unread ")
        << text_of(story);
  }
}

TEST(DetectOperations, WhoLeftNoTraceIsAskedFor) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    const JobStory story = stories.draw(JobFault::dies, Where::anywhere);
    const std::string rank = std::to_string(story.rank);
    OperationBoard board;
    EXPECT_EQ(text_of(judge(story, board, rng)), "no_trace " + rank + " unread " + rank + " ")
        << text_of(story);
  }
}

TEST(DetectOperations, WhoMeansSomethingElseIsNamed) {
  Rng rng(seed);
  Stories stories(rng);
  for (const JobFault fault : {JobFault::other_op, JobFault::other_size, JobFault::other_dtype}) {
    for (int i = 0; i < stories_each; ++i) {
      const JobStory story = stories.draw(fault, Where::in_a_collective);
      OperationBoard board;
      const auto finding = judge(story, board, rng);
      ASSERT_TRUE(finding) << text_of(story);
      EXPECT_EQ(finding->kind, StuckKind::mismatch) << text_of(story) << ": " << text_of(finding);
      const bool named = std::count(finding->ranks.begin(), finding->ranks.end(), story.rank) == 1;
      EXPECT_TRUE(named && finding->ranks.size() <= 2)
          << text_of(story) << ": " << text_of(finding);
    }
  }
}

TEST(DetectOperations, EndsOfATransferThatDifferAreNamed) {
  Rng rng(seed);
  Stories stories(rng);
  for (const JobFault fault : {JobFault::other_size, JobFault::other_dtype}) {
    for (int i = 0; i < stories_each; ++i) {
      const JobStory story = stories.draw(fault, Where::in_a_transfer);
      const auto name = operations_of(story.shape, story.rank)[static_cast<std::size_t>(story.at)];
      const int peer = std::stoi(name.substr(name.find_first_of("<>") + 1));
      OperationBoard board;
      const auto finding = judge(story, board, rng);
      ASSERT_TRUE(finding) << text_of(story);
      EXPECT_EQ(finding->kind, StuckKind::mismatch) << text_of(story) << ": " << text_of(finding);
      EXPECT_EQ(finding->ranks,
                (std::vector<std::int32_t>{std::min(story.rank, peer), std::max(story.rank, peer)}))
          << text_of(story) << ": " << text_of(finding);
    }
  }
}

TEST(DetectOperations, AJobThatMovesAccusesNobody) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    JobStory story = stories.draw(JobFault::none, Where::anywhere);
    story.moment = 5 + static_cast<int>(rng.below(40));
    story.moment_jitter = static_cast<int>(rng.below(3));
    story.written_after = std::chrono::milliseconds{rng.below(1000)};
    OperationBoard board;
    const auto finding = judge(story, board, rng);
    if (!finding) continue;
    EXPECT_EQ(finding->kind, StuckKind::moving) << text_of(story);
    EXPECT_TRUE(finding->ranks.empty()) << text_of(story) << ": " << text_of(finding);
  }
}

TEST(DetectOperations, WhoLeavesAnOperationOutIsNamed) {
  Rng rng(seed);
  Stories stories(rng);
  int found = 0, told_apart = 0;
  for (const JobFault fault : {JobFault::leaves_out, JobFault::swaps}) {
    for (int i = 0; i < stories_each; ++i) {
      const JobStory story = stories.draw(fault, Where::in_a_collective);
      OperationBoard board;
      const auto finding = judge(story, board, rng);
      // Two neighbours that are alike can be exchanged, and the last of all can be left out, and
      // nobody is the worse for it.
      if (!finding) continue;
      EXPECT_EQ(std::count(finding->ranks.begin(), finding->ranks.end(), story.rank), 1)
          << text_of(story) << ": " << text_of(finding) << " in "
          << finding->operation.event->field("group") << " "
          << finding->operation.event->field("seq");
      ++found;
      if (finding->ranks.size() <= 2) ++told_apart;
    }
  }
  // What is long done has left no order, so a circle cannot always be narrowed down.
  EXPECT_GE(told_apart * 10, found * 9) << told_apart << " of " << found;
}

TEST(DetectOperations, AGpuThatDoesNotBeginIsNamedWhereTheRecorderHasTimes) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    JobStory story = stories.draw(JobFault::hangs_on_gpu, Where::in_a_collective);
    story.timing = true;
    OperationBoard board;
    const auto finding = judge(story, board, rng);
    EXPECT_TRUE(finding) << text_of(story);
    if (!finding) continue;
    EXPECT_EQ(finding->kind, StuckKind::inside) << text_of(story) << ": " << text_of(finding);
    const auto members =
        groups_of(story.shape).at(std::string(finding->operation.event->field("group")));
    if (members.size() <= 2) continue;  // one against one: it cannot be told
    EXPECT_EQ(finding->ranks, std::vector<std::int32_t>{story.rank})
        << text_of(story) << ": " << text_of(finding);
  }
}

TEST(DetectOperations, WithoutTimesAHangInsideAccusesNobody) {
  Rng rng(seed);
  Stories stories(rng);
  for (int i = 0; i < stories_each; ++i) {
    const JobStory story = stories.draw(JobFault::hangs_on_gpu, Where::in_a_collective);
    OperationBoard board;
    EXPECT_EQ(text_of(judge(story, board, rng)), "inside unread ") << text_of(story);
  }
}

}  // namespace
}  // namespace faultline
