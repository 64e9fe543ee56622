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

Event line_of(const std::string& label) {
  Event event;
  if (!label.empty()) event.fields = {{"rank", label}};
  return event;
}

/// After an entry of rank 12 on n1, printed by a task whose lines begin with `label`.
LauncherTable with_traceback(const std::string& label, const std::string& last) {
  LauncherTable table;
  for (const auto& [field, value] :
       {std::pair{"rank", "12 (local_rank: 4)"}, std::pair{"host", "n1"},
        std::pair{"traceback", last.c_str()}}) {
    Event event = row(field, value);
    if (!label.empty()) event.fields["rank"] = label;
    table.take(event);
  }
  return table;
}

const std::string head = "Traceback (most recent call last):";

TEST(LauncherTable, ATracebackIsOfTheRankOfItsEntry) {
  LauncherTable table = with_traceback("1", head);
  Event other = line_of("0"), error = line_of("1");
  table.place("step 3", other);
  EXPECT_EQ(other.field("rank"), "0") << "of another task";
  table.place("  ValueError: x", error);
  EXPECT_EQ(error.fields, (Fields{{"rank", "12"}, {"local_rank", "4"}, {"host", "n1"}}));
}

TEST(LauncherTable, WhatFollowsATracebackIsNotOfItsRank) {
  LauncherTable table = with_traceback("", head);
  for (const std::string_view body : {"ValueError: x", "  ValueError: y"}) {
    Event event = line_of("");
    table.place(body, event);
    EXPECT_EQ(event.fields, Fields{}) << body;
  }
  LauncherTable without = with_traceback("", "To enable traceback see: https://pytorch.org");
  Event event = line_of("");
  without.place("  ValueError: x", event);
  EXPECT_EQ(event.fields, Fields{});
}

TEST(LauncherTable, ATitleOrARowEndsATraceback) {
  LauncherTable titled = with_traceback("", head), next = with_traceback("", head);
  titled.pass("Root Cause (first observed failure):");
  Event first_row = row("time", "2026-11-29_19:50:25");
  next.take(first_row);
  for (LauncherTable* table : {&titled, &next}) {
    Event event = line_of("");
    table->place("  ValueError: x", event);
    EXPECT_EQ(event.fields, Fields{});
  }
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

TEST(LauncherTable, HydrasBoxSaysWhoAndThenHow) {
  LauncherTable table;
  Event who;
  who.signature = "hydra.rank";
  who.fields = {{"host", "n8"}, {"pid", "22"}};
  table.place("=   PID 22 RUNNING AT n8", who);
  Event how;
  table.place("=   EXIT CODE: 139", how);
  EXPECT_EQ(how.field("host"), "n8");
  EXPECT_EQ(how.field("pid"), "22");
  Event after;
  table.place("step 5 loss 1.0", after);
  table.place("=   EXIT CODE: 139", after);
  EXPECT_EQ(after.field("host"), "") << "its box is over";
}

TEST(LauncherTable, OddRowsAreHarmless) {
  LauncherTable table;
  EXPECT_EQ(
      told(table, {{"time", ""}, {"rank", "x"}, {"exitcode", ""}, {"rank", "-"}, {"host", ""}}),
      Fields{});
  EXPECT_FALSE(is_table_row(Event{}));
  EXPECT_TRUE(is_table_row(row("rank", "1")));
}

Event mpi_line(const std::string& signature, std::uint64_t offset) {
  Event event;
  event.signature = signature;
  event.raw.offset = offset;
  return event;
}

TEST(LauncherTable, ANameIsThatOfALostDaemonRightBelowItsWordsAlone) {
  LauncherTable table;
  EXPECT_TRUE(table.is_stray_name(mpi_line("mpi.daemon_lost.name", 10)));
  EXPECT_FALSE(table.is_stray_name(mpi_line("mpi.daemon_lost.old", 100)));
  EXPECT_FALSE(table.is_stray_name(mpi_line("mpi.daemon_lost.name", 163)));
  EXPECT_TRUE(table.is_stray_name(mpi_line("mpi.daemon_lost.name", 180))) << "one name, one daemon";
  EXPECT_FALSE(table.is_stray_name(mpi_line("mpi.daemon_lost.old", 1000)));
  EXPECT_TRUE(table.is_stray_name(mpi_line("mpi.daemon_lost.name", 1257))) << "too far below";
}

}  // namespace
}  // namespace faultline
