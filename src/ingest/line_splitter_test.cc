#include "ingest/line_splitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/rng.h"

namespace faultline {
namespace {

struct Taken {
  std::string text;
  std::uint64_t offset;
  bool operator==(const Taken&) const = default;
};

void PrintTo(const Taken& taken, std::ostream* out) {
  *out << taken.offset << ":" << taken.text.substr(0, 40);
}

LineSplitter::Sink into(std::vector<Taken>& lines) {
  return [&lines](const Line& line) { lines.push_back({std::string(line.text), line.offset}); };
}

std::vector<Taken> whole(std::string_view bytes) {
  LineSplitter splitter;
  std::vector<Taken> lines;
  splitter.feed(bytes, 0, into(lines));
  splitter.finish(into(lines));
  return lines;
}

using Lines = std::vector<Taken>;

TEST(LineSplitter, KnowsWhereEachLineStarts) {
  EXPECT_EQ(whole("one\ntwo\n\nthree"), (Lines{{"one", 0}, {"two", 4}, {"three", 9}}));
}

TEST(LineSplitter, TakesWindowsLineEnds) {
  EXPECT_EQ(whole("a\r\nb\r\n"), (Lines{{"a", 0}, {"b", 3}}));
}

TEST(LineSplitter, EveryFrameOfAProgressBarIsALine) {
  EXPECT_EQ(whole("10%\r20%\rRuntimeError: CUDA error\n"),
            (Lines{{"10%", 0}, {"20%", 4}, {"RuntimeError: CUDA error", 8}}));
}

TEST(LineSplitter, AnUnfinishedLineWaitsForItsEnd) {
  LineSplitter splitter;
  Lines lines;
  splitter.feed("NVRM: X", 100, into(lines));
  EXPECT_TRUE(lines.empty());
  splitter.feed("id\n", 107, into(lines));
  EXPECT_EQ(lines, (Lines{{"NVRM: Xid", 100}}));
}

TEST(LineSplitter, AJumpClosesTheUnfinishedLine) {
  LineSplitter splitter;
  Lines lines;
  splitter.feed("old", 0, into(lines));
  splitter.feed("new\n", 50, into(lines));
  EXPECT_EQ(lines, (Lines{{"old", 0}, {"new", 50}}));
}

TEST(LineSplitter, TakesColoursAway) {
  EXPECT_EQ(whole("\x1b[31;1mError\x1b[0m: x\n"), (Lines{{"Error: x", 0}}));
  EXPECT_EQ(whole("\x1b]0;title\x07text\n"), (Lines{{"text", 0}}));
  EXPECT_EQ(whole("\x1b[2K\x1b[1A\n"), Lines{});
  EXPECT_EQ(whole("cut \x1b["), (Lines{{"cut ", 0}}));
}

TEST(LineSplitter, AnOpenTitleSequenceHidesNothing) {
  EXPECT_EQ(whole("name=\x1b]0;, GPU has fallen off the bus\n"),
            (Lines{{"name=0;, GPU has fallen off the bus", 0}}));
}

TEST(LineSplitter, KeepsTheLineBehindAHoleOfNulBytes) {
  const std::string hole(100'000, '\0');
  LineSplitter splitter;
  Lines lines;
  splitter.feed(hole + "NVRM: Xid\nnext\n", 0, into(lines));
  EXPECT_EQ(lines, (Lines{{"NVRM: Xid", 0}, {"next", hole.size() + 10}}));
  EXPECT_EQ(splitter.totals().binary_lines, 1U);
  EXPECT_EQ(splitter.totals().binary_bytes, hole.size());
}

TEST(LineSplitter, CutsALongLineAndCountsTheRest) {
  LineSplitter splitter;
  Lines lines;
  splitter.feed(
      std::string(line_bytes_max, 'x') + "\n" + std::string(line_bytes_max + 7, 'y') + "\nz\n", 0,
      into(lines));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text, std::string(line_bytes_max, 'x'));
  EXPECT_EQ(lines[1].text, std::string(line_bytes_max, 'y'));
  EXPECT_EQ(lines[2].text, "z");
  EXPECT_EQ(splitter.totals().too_long_lines, 1U);
  EXPECT_EQ(splitter.totals().too_long_bytes, 7U);
}

TEST(LineSplitter, ALineOfAHundredMegabytesCostsNoMemory) {
  LineSplitter splitter;
  Lines lines;
  const std::string chunk(std::size_t{1} << 20U, 'x');
  std::uint64_t offset = 0;
  for (int i = 0; i < 100; ++i, offset += chunk.size()) splitter.feed(chunk, offset, into(lines));
  EXPECT_LE(splitter.memory_bytes(), 4 * line_bytes_max);
  splitter.feed("\nend\n", offset, into(lines));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text.size(), line_bytes_max);
  EXPECT_EQ(lines[1].text, "end");
  EXPECT_EQ(splitter.totals().too_long_bytes, 100 * chunk.size() - line_bytes_max);
}

/// Bytes of a kind that meets every path: line ends, escapes, NUL bytes, long runs.
std::string odd_bytes(Rng& rng) {
  static const std::vector<std::string> pieces = {"\n",
                                                  "\r",
                                                  "\r\n",
                                                  "\x1b[31m",
                                                  "\x1b",
                                                  "\x1b]0;t\x07",
                                                  "word ",
                                                  "\xff\xfe",
                                                  std::string(3, '\0'),
                                                  std::string(line_bytes_max - 2, 'a'),
                                                  std::string(5000, 'b'),
                                                  "NVRM: Xid (PCI:0000:3b:00): 79, x"};
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += pieces[rng.below(pieces.size())];
  return bytes;
}

TEST(LineSplitter, TheLinesAreTheSameHoweverTheBytesAreCut) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    const std::string bytes = odd_bytes(rng);
    const Lines expected = whole(bytes);
    LineSplitter splitter;
    Lines lines;
    const std::size_t step_max = round % 2 == 0 ? 3 : 20'000;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t step = std::min(bytes.size() - at, 1 + rng.below(step_max));
      splitter.feed(std::string_view(bytes).substr(at, step), at, into(lines));
      at += step;
    }
    splitter.finish(into(lines));
    ASSERT_EQ(lines, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace faultline
