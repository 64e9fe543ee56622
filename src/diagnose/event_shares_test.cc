#include "diagnose/event_shares.h"

#include <gmock/gmock.h>

#include <numeric>

#include "model/event.h"

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Event> events_of(const std::string& file, std::size_t count,
                             EventSource source = EventSource::job_log) {
  std::vector<Event> events(count);
  for (std::size_t i = 0; i < count; ++i) {
    events[i].source = source;
    events[i].id = file + std::to_string(i);
  }
  return events;
}

std::vector<std::string> ids_in(const Gathered& gathered) {
  std::vector<std::string> ids;
  for (const Event& event : gathered.events) ids.push_back(event.id);
  return ids;
}

void read(Gathered& gathered, EventShares& shares, const std::string& name, std::size_t count) {
  FileEvents events(gathered, shares);
  for (Event& event : events_of(name, count)) {
    gathered.lines.emplace(event.id, gathered.lines.size());
    events.add({std::move(event)});
  }
  ReadFile file;
  file.file.name = name;
  events.finish(std::move(file));
}

TEST(EventShares, NothingIsLeftOutUpToTheLimit) {
  EventShares shares(5);
  Gathered gathered;
  read(gathered, shares, "a", 4);
  read(gathered, shares, "b", 1);
  thin(gathered, shares.share());
  EXPECT_THAT(ids_in(gathered), ElementsAre("a0", "a1", "a2", "a3", "b0"));
  EXPECT_THAT(thinning_warnings(gathered.files), IsEmpty());
}

TEST(EventShares, WhoHasMostKeepsItsFirstAndLast) {
  EventShares shares(6);
  Gathered gathered;
  read(gathered, shares, "a", 100);
  read(gathered, shares, "b", 1);
  thin(gathered, shares.share());
  EXPECT_THAT(ids_in(gathered), ElementsAre("a0", "a1", "a2", "a98", "a99", "b0"));
  EXPECT_EQ(gathered.lines.size(), 6U) << "no numbers of lines that went";
  EXPECT_TRUE(gathered.lines.contains("a98"));
  const auto warnings = thinning_warnings(gathered.files);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].file, "a");
  EXPECT_EQ(warnings[0].what, "has 95 lines of interest beyond what is kept of all files together");
  EXPECT_TRUE(warnings[0].may_matter) << "or nothing would be wrong";
}

TEST(EventShares, TheOrderOfTheFilesChangesNothing) {
  const std::vector<std::size_t> counts = {40, 3, 7, 90, 1, 12};
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::string> first;
  do {
    EventShares shares(20);
    Gathered gathered;
    for (const std::size_t file : order)
      read(gathered, shares, std::string(1, static_cast<char>('a' + file)), counts[file]);
    thin(gathered, shares.share());
    std::vector<std::string> ids = ids_in(gathered);
    std::sort(ids.begin(), ids.end());
    if (first.empty()) first = ids;
    ASSERT_EQ(ids, first);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(first.size(), 20U);
}

TEST(EventShares, LittleIsHeldMeanwhile) {
  EventShares shares(8);
  Gathered gathered;
  for (char name = 'a'; name <= 'z'; ++name) {
    read(gathered, shares, std::string(1, name), 1000);
    EXPECT_LE(gathered.events.size(), 26U) << name;
  }
  EXPECT_EQ(shares.share(), 1U) << "of each file at least one";
}

TEST(EventShares, TracesHaveLimitsOfTheirOwn) {
  EventShares shares(2);
  Gathered gathered;
  FileEvents events(gathered, shares);
  events.add(events_of("trace", 50, EventSource::collective_trace));
  events.add(events_of("log", 3));
  events.finish({});
  EXPECT_EQ(gathered.events.size(), 52U) << "a dump without its operations would be a silent rank";
  EXPECT_EQ(gathered.files.front().left_out, 1U);
  EXPECT_EQ(gathered.sharing, 2U) << "no more of it could go, so nothing is thinned for it";
}

TEST(EventShares, OnceThinnedToAShareThereIsNothingMoreToThin) {
  EventShares shares(4);
  Gathered gathered;
  for (char name = 'a'; name <= 'z'; ++name) read(gathered, shares, std::string(1, name), 1);
  EXPECT_EQ(shares.share(), 1U);
  EXPECT_EQ(gathered.sharing, 26U) << "of each file one";
  EXPECT_EQ(gathered.share, 1U);
  EXPECT_TRUE(shares.worth_thinning(26, 2));
  EXPECT_FALSE(shares.worth_thinning(26, 1)) << "or each further file would go through all others";
  EXPECT_FALSE(shares.worth_thinning(5, 2)) << "so little is not worth it";
}

}  // namespace
}  // namespace faultline
