#include "diagnose/losses.h"

#include <gmock/gmock.h>

#include "model/gap_reason.h"

namespace faultline {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

ReadFile file_of(ContentKind kind) {
  ReadFile file;
  file.file.name = "n3.log";
  file.kind = kind;
  return file;
}

Event gap(GapReason why, int lines) {
  Event event;
  event.kind = EventKind::source_gap;
  event.fields = {{"why", std::string(to_text(why))}, {"lines", std::to_string(lines)}};
  return event;
}

TEST(Losses, NothingIsSaidWhereNothingIsLost) {
  Losses losses;
  Event hit;
  hit.fields = {{"why", "too_long"}, {"lines", "3"}};  // a program's own field
  losses.add(std::vector<Event>{hit});
  losses.add(CounterValues{{"ingest_lines_total", 1000}, {"ingest_json_broken_total", 0}});
  EXPECT_THAT(losses.warnings(file_of(ContentKind::job_log)), IsEmpty());
}

TEST(Losses, GapsOfAFileAreAddedUp) {
  Losses losses;
  losses.add(std::vector<Event>{gap(GapReason::too_long, 1)});
  losses.add(std::vector<Event>{gap(GapReason::too_long, 2), gap(GapReason::binary, 1)});
  const auto warnings = losses.warnings(file_of(ContentKind::job_log));
  ASSERT_THAT(warnings, SizeIs(2));
  EXPECT_EQ(warnings[0].file, "n3.log");
  EXPECT_EQ(warnings[0].what, "has 3 lines of more than 2 MiB");
  EXPECT_TRUE(warnings[0].may_matter);
  EXPECT_EQ(warnings[1].what, "has 1 line with NUL bytes");
  EXPECT_FALSE(warnings[1].may_matter);
}

TEST(Losses, ACutRecordMattersUnlessItsWriterAlwaysLeavesOne) {
  Losses losses;
  losses.add(CounterValues{{"ingest_json_broken_total", 1}});
  for (const auto kind : {ContentKind::journal_json, ContentKind::nccl_inspector}) {
    const auto warnings = losses.warnings(file_of(kind));
    ASSERT_THAT(warnings, SizeIs(1));
    EXPECT_EQ(warnings[0].what, "has 1 record that is cut or damaged");
    EXPECT_EQ(warnings[0].may_matter, kind == ContentKind::journal_json);
  }
}

}  // namespace
}  // namespace faultline
