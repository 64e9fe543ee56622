#include "ingest/launcher_table.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

Event row(const std::string& field, const std::string& value) {
  Event event;
  event.fields = {{"field", field}, {"value", value}};
  return event;
}

/// What the "traceback" row after these rows tells.
Fields told(LauncherTable& table, const std::vector<std::pair<std::string, std::string>>& rows) {
  for (const auto& [field, value] : rows) {
    Event event = row(field, value);
    EXPECT_TRUE(table.take(event)) << field;
  }
  Event last = row("traceback", "Signal 9 (SIGKILL) received by PID 1383");
  EXPECT_FALSE(table.take(last));
  last.fields.erase("field");
  last.fields.erase("value");
  return last.fields;
}

TEST(LauncherTable, TellsAnEntryOnItsLastRow) {
  LauncherTable table;
  EXPECT_EQ(told(table, {{"time", "2026-11-29_19:50:25"},
                         {"host", "n2"},
                         {"rank", "17 (local_rank: 2)"},
                         {"exitcode", "-9 (pid: 1383)"},
                         {"error_file", "<N/A>"}}),
            (Fields{{"time", "2026-11-29_19:50:25"},
                    {"rank", "17"},
                    {"local_rank", "2"},
                    {"host", "n2"},
                    {"exit_code", "-9"},
                    {"pid", "1383"}}));
  EXPECT_EQ(told(table, {}), Fields{}) << "nothing of it is left for the next";
}

TEST(LauncherTable, AnEntryThatWasCutOffGivesNothingToTheNext) {
  LauncherTable table;
  Event cut = row("rank", "3 (local_rank: 3)");
  EXPECT_TRUE(table.take(cut));
  EXPECT_EQ(told(table, {{"time", "t"}, {"exitcode", "1 (pid: 7)"}}),
            (Fields{{"time", "t"}, {"exit_code", "1"}, {"pid", "7"}}));
}

TEST(LauncherTable, LocalhostIsNoHost) {
  LauncherTable table;
  EXPECT_EQ(told(table, {{"time", "t"}, {"host", "localhost"}}), (Fields{{"time", "t"}}));
}

TEST(LauncherTable, OnlyTheEntryBelowTheTitleIsTheFirstFailure) {
  LauncherTable table;
  table.pass("Root Cause (first observed failure):");
  EXPECT_EQ(told(table, {{"rank", "1"}}), (Fields{{"first_failure", "1"}, {"rank", "1"}}));
  EXPECT_EQ(told(table, {{"rank", "1"}}), (Fields{{"rank", "1"}}));
  table.pass("Root Cause: unknown");
  EXPECT_EQ(told(table, {{"rank", "1"}}), (Fields{{"rank", "1"}})) << "not its title";
}

TEST(LauncherTable, PyTorch19EndsAnEntryWithItsMessage) {
  LauncherTable table;
  table.pass("Root Cause:");
  Event failed = row("msg", "\"Process failed with exitcode 1\"");
  for (const auto& [field, value] :
       {std::pair{"rank", "0 (local_rank: 0)"}, std::pair{"exitcode", "1 (pid: 7)"}}) {
    Event before = row(field, value);
    EXPECT_TRUE(table.take(before));
  }
  EXPECT_FALSE(table.take(failed));
  EXPECT_EQ(failed.field("exit_code"), "1");
  EXPECT_EQ(failed.field("first_failure"), "1");
  Event words = row("msg", "hello");
  EXPECT_TRUE(table.take(words)) << "any program may print that";
}

TEST(LauncherTable, ItsTimeIsSpeltAsOthersAre) {
  Event event;
  event.fields = {{"time", "2026-11-29_19:50:25"}};
  EXPECT_EQ(told_time(event), "2026-11-29T19:50:25");
  event.fields = {{"time", "2026-11-29 19:50:25"}};
  EXPECT_EQ(told_time(event), "");
  EXPECT_EQ(told_time(Event{}), "");
}

TEST(LauncherTable, OddRowsAreHarmless) {
  LauncherTable table;
  EXPECT_EQ(
      told(table, {{"time", ""}, {"rank", "x"}, {"exitcode", ""}, {"rank", "-"}, {"host", ""}}),
      Fields{});
  EXPECT_FALSE(is_table_row(Event{}));
  EXPECT_TRUE(is_table_row(row("rank", "1")));
}

}  // namespace
}  // namespace faultline
