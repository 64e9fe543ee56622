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
            (Fields{{"rank", "17"},
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
            (Fields{{"exit_code", "1"}, {"pid", "7"}}));
}

TEST(LauncherTable, LocalhostIsNoHost) {
  LauncherTable table;
  EXPECT_EQ(told(table, {{"time", "t"}, {"host", "localhost"}}), Fields{});
}

TEST(LauncherTable, OnlyTheEntryBelowTheTitleIsTheFirstFailure) {
  LauncherTable table;
  table.pass("Root Cause (first observed failure):");
  EXPECT_EQ(told(table, {{"time", "t"}}), (Fields{{"first_failure", "1"}}));
  EXPECT_EQ(told(table, {{"time", "t"}}), Fields{});
}

TEST(LauncherTable, OddRowsAreHarmless) {
  LauncherTable table;
  EXPECT_EQ(
      told(table, {{"time", "t"}, {"rank", "x"}, {"exitcode", ""}, {"rank", "-"}, {"host", ""}}),
      Fields{});
  EXPECT_FALSE(is_table_row(Event{}));
  EXPECT_TRUE(is_table_row(row("rank", "1")));
}

}  // namespace
}  // namespace faultline
