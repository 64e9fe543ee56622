// What is printed, and what happens when it cannot be. Each that breaks standard output does so in
// a process of its own.
#include "apps/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace faultline {
namespace {

using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::Not;

TEST(Output, ATableHoldsNoControls) {
  Table table({"NAME"});
  table.add(
      {"a\x1b[31mb\nc\xc2\x9b"
       "d"});
  const std::string text = table.text();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Output, ATableFitsTheTerminalByTheMiddleOfItsFreeText) {
  Table table({"NODE", "REASON", "BY"}, {"REASON"});
  table.add({"a-very-long-node-name", "replaced: fan 4 of the left side", "ann"});
  table.add({"n2", "-", "bob"});
  EXPECT_EQ(table.text(), table.text(60)) << "just as wide";
  EXPECT_EQ(table.text(59),
            "NODE                   REASON                           BY\n"
            "a-very-long-node-name  replaced: fan 4…f the left side  ann\n"
            "n2                     -                                bob\n");
  EXPECT_THAT(table.text(40), HasSubstr("a-very-long-node-name  replac… side  ann\n"));
  EXPECT_EQ(table.text(39), table.text()) << "it would not fit anyway";
  EXPECT_EQ(table.text(), table.text(0));
}

TEST(Output, TheLongestFreeTextIsElidedFirstAndALetterIsALetter) {
  Table table({"A", "B"}, {"A", "B"});
  table.add({std::string(14, 'a'), "ääääääääääääääääääää"});
  EXPECT_THAT(table.text(30), HasSubstr("aaaaaaaaaaaaaa  äääääää…ääääää\n"));
  EXPECT_THAT(table.text(26), HasSubstr("aaaaaa…aaaaa  ääääää…äääää\n"));
  EXPECT_EQ(table.text(25), table.text()) << "less would say nothing, and not fit either";
}

TEST(Output, AnIdInFreeTextIsWhole) {
  Table table({"REASON"}, {"REASON"});
  table.add({"faultline:a-232befe3667dc910 gpu.ecc_uncorrectable"});
  EXPECT_THAT(table.text(32), HasSubstr("faultline:a-232befe3667dc910…ble\n"));
  EXPECT_THAT(table.text(29), HasSubstr("faultline:a-232befe3667dc910…\n"));
  EXPECT_EQ(table.text(28), table.text());
}

TEST(Output, WhatIsNoTerminalGetsTheWholeTableUnlessColumnsSaysHowWide) {
  Table table({"REASON"}, {"REASON"});
  table.add({std::string(300, 'x')});
  const auto printed = [&] {
    testing::internal::CaptureStdout();
    print(table);
    return testing::internal::GetCapturedStdout();
  };
  ::unsetenv("COLUMNS");
  EXPECT_EQ(printed(), table.text());
  ::setenv("COLUMNS", "40", 1);
  EXPECT_EQ(printed(), table.text(40));
  ::setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(printed(), table.text());
  ::unsetenv("COLUMNS");
}

TEST(Output, LinesStayLines) {
  testing::internal::CaptureStdout();
  print("one\n\ttwo\x1b\n");
  print("");
  print("three");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one\n\ttwo\xEF\xBF\xBD\nthree");
}

/// A whole verb with `descriptor` as its output.
[[noreturn]] void print_to(int descriptor, int code) {
  ::dup2(descriptor, STDOUT_FILENO);
  print("first\n");
  print(std::string(1 << 20, 'x'));
  std::_Exit(finish_output("faultline nodes", code));
}

[[noreturn]] void print_to_closed() {
  ::close(STDOUT_FILENO);
  hold_standard_descriptors();
  if (::open("/dev/null", O_RDONLY) <= STDERR_FILENO) std::_Exit(99);  // a store, say
  print("text\n");
  std::_Exit(finish_output("faultline nodes", exit_ok));
}

/// The end of a pipe that nobody reads.
int unread_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::_Exit(99);
  ::close(ends[0]);
  return ends[1];
}

TEST(OutputDeathTest, WhatAFullDiskDoesNotTakeIsAFailure) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto* lost = "the output of `faultline nodes` is lost: No space left";
  EXPECT_EXIT(print_to(full, exit_ok), ExitedWithCode(exit_failed),
              testing::AllOf(HasSubstr(lost), HasSubstr("; what it was asked for is done\n")));
  EXPECT_EXIT(print_to(full, exit_not_found), ExitedWithCode(exit_not_found),
              testing::AllOf(HasSubstr(lost), Not(HasSubstr("is done"))))
      << "what failed before keeps its code";
  ::close(full);
}

TEST(OutputDeathTest, AClosedOutputIsAFailureAndItsNumberIsNotTaken) {
  EXPECT_EXIT(print_to_closed(), ExitedWithCode(exit_failed), "is lost: Bad file descriptor");
}

TEST(OutputDeathTest, AReaderThatWentAwayIsNone) {
  EXPECT_EXIT(
      {
        ::signal(SIGPIPE, SIG_DFL);  // whatever the tests were started with
        print_to(unread_pipe(), exit_ok);
      },
      testing::KilledBySignal(SIGPIPE), "^$");
  EXPECT_EXIT(
      {
        ::signal(SIGPIPE, SIG_IGN);
        print_to(unread_pipe(), exit_ok);
      },
      ExitedWithCode(exit_ok), "^$");
}

TEST(OutputDeathTest, WhatWasTakenIsSuccess) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EXIT(print_to(nowhere, exit_ok), ExitedWithCode(exit_ok), "^$");
  ::close(nowhere);
}

}  // namespace
}  // namespace faultline
