#include "ingest/line_unwrapper.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <utility>
#include <vector>

namespace faultline {
namespace {

const std::string kernel_lines[] = {
    "Nov 16 09:12:03 node17 kernel: [12345.1] usb 1-1: new device",
    "Nov 16 09:12:04 node17 kernel: [12346.123456] NVRM: Xid (PCI:0000:3b:00): 79, pid=4123, "
    "name=python, GPU has fallen off the bus.",
    "Nov 16 09:12:09 node17 kernel: [12351.1] usb 1-1: USB disconnect"};

/// As a terminal of this width breaks them.
std::string wrapped(const std::vector<std::string>& lines, std::size_t width,
                    const std::string& end = "\n") {
  std::string text;
  for (const std::string& line : lines) {
    for (std::size_t at = 0; at < line.size(); at += width) text += line.substr(at, width) + end;
  }
  return text;
}

std::vector<std::string> time_outs() {
  std::vector<std::string> lines{"step 100 loss 2.1"};
  for (const char* rank : {"0", "1", "2"}) {
    lines.push_back(std::string("[rank") + rank +
                    "]:[E1116 09:12:04.000000000 ProcessGroupNCCL.cpp:616] [Rank " + rank +
                    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=120, "
                    "OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for "
                    "600021 milliseconds before timing out.");
  }
  return lines;
}

std::string unwrapped(const std::string& text, std::size_t piece = std::string::npos) {
  auto wrapping = find_wrapping(text);
  if (!wrapping) return "not wrapped";
  LineUnwrapper unwrapper(std::move(*wrapping));
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += std::min(piece, text.size() - at))
    unwrapper.feed(std::string_view(text).substr(at, piece), out);
  unwrapper.finish(out);
  return out;
}

std::size_t width_of(const std::string& text) {
  const auto wrapping = find_wrapping(text);
  return wrapping ? wrapping->width : 0;
}

TEST(LineUnwrapper, MakesLinesWholeAndKeepsTheirOffsets) {
  const auto lines = time_outs();
  for (const std::size_t width : {72, 80, 100, 120, 132, 160}) {
    for (const char* end : {"\n", "\r\n"}) {
      const std::string text = wrapped(lines, width, end);
      ASSERT_EQ(width_of(text), width);
      for (const std::size_t piece : {1, 7, 4096}) {
        const std::string whole = unwrapped(text, piece);
        EXPECT_EQ(whole.size(), text.size());
        EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'),
                  std::count(text.begin(), text.end(), '\n'));
        std::size_t at = 0;
        for (const std::string& line : lines) {
          EXPECT_EQ(whole.substr(at, line.size()), line) << width;
          at += wrapped({line}, width, end).size();
        }
      }
    }
  }
}

TEST(LineUnwrapper, OneBrokenLineIsEnoughWhereAllOthersHaveATime) {
  const std::string text = wrapped({std::begin(kernel_lines), std::end(kernel_lines)}, 80);
  EXPECT_EQ(width_of(text), 80U);
  EXPECT_NE(unwrapped(text).find(kernel_lines[1] + "\n\nNov 16 09:12:09"), std::string::npos);
  // Without a time anywhere the longest line is the longest, and no more.
  EXPECT_EQ(width_of("step 1\n" + std::string("loss 2.0 ") + std::string(71, 'a') +
                     "\nwhat follows\nstep 2\n"),
            0U);
}

TEST(LineUnwrapper, ALongerLineSaysThatNothingIsBroken) {
  std::string text = wrapped(time_outs(), 120);
  EXPECT_EQ(width_of(text + std::string(121, 'x') + "\n"), 0U);
  // The same where it comes later than what was looked at.
  auto wrapping = find_wrapping(text);
  ASSERT_TRUE(wrapping);
  LineUnwrapper unwrapper(std::move(*wrapping));
  std::string whole;
  unwrapper.feed(text, whole);
  const std::string full(120, 'y');
  unwrapper.feed("begin " + full.substr(6) + "\n", whole);
  const std::string rest = std::string(2000, 'x') + "\n" + text;
  unwrapper.feed(rest, whole);
  unwrapper.finish(whole);
  EXPECT_TRUE(whole.ends_with("yyy\n" + rest));
}

TEST(LineUnwrapper, EquallyLongLinesAreNoWrappedOnes) {
  std::string steps, rows, ruler, dump, stamped;
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(1000 + i);
    steps +=
        "step " + number + " | loss 2.1 | learning rate 0.0003 | tokens per second 1234567 | ok\n";
    rows += "| " + number + " layer" + std::string(70, 'a' + static_cast<char>(i % 26)) + " |\n";
    ruler += std::string(80, '=') + "\nTitle " + number + "\n";
    dump += "0000" + number + ": 4865 6c6c 6f20 776f 726c 640a 4865 6c6c 6f20 776f 726c 640a abc\n";
    stamped += "2026-11-16 09:12:04," + number.substr(1) +
               " INFO trainer.py:120 checkpoint written to /data/run/ckpt" + number + "\n";
  }
  for (const std::string& text : {steps, rows, ruler, dump, stamped})
    EXPECT_EQ(width_of(text), 0U) << text.substr(0, 200);
}

TEST(LineUnwrapper, WordsThatAreNotBrokenAreNoWrapping) {
  std::string text, line;
  for (std::size_t i = 0; i < 600; ++i) {
    std::string word;  // each another
    for (std::size_t rest = i * i + 7; rest > 0; rest /= 13)
      word += static_cast<char>('a' + static_cast<int>(rest % 13));
    if (line.size() + 1 + word.size() > 80) text += std::exchange(line, {}) + "\n";
    line += (line.empty() ? "" : " ") + word;
  }
  EXPECT_EQ(width_of(text), 0U);
}

TEST(LineUnwrapper, ALineOfAnotherWriterBehindAFullLineIsItsOwn) {
  std::string text = wrapped(time_outs(), 120);
  const std::string exact = "[rank3]: " + std::string("note ") + std::string(106, 'n');
  for (const char* next : {"2026-11-16T09:12:04.123456Z n3 rank3 | step 3",
                           "(Worker pid=71, ip=10.0.0.7) up", "srun: error: n3: task 3: Killed"})
    EXPECT_NE(unwrapped(text + exact + "\n" + next + "\n").find(exact + "\n" + next),
              std::string::npos);
}

TEST(LineUnwrapper, ATracebackBehindAFullLineIsItsOwn) {
  auto lines = time_outs();
  std::string text = wrapped(lines, 120);
  const std::string exact = "[rank3]: " + std::string("note ") + std::string(106, 'n');
  text += exact + "\nTraceback (most recent call last):\n  File \"train.py\", line 3\n";
  EXPECT_NE(unwrapped(text).find(exact + "\nTraceback"), std::string::npos);
}

TEST(LineUnwrapper, CountsCharactersAndNotBytes) {
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += "[rank" + std::to_string(i) + "]: größer als " + std::string(65, 'a') + "\n" +
            std::string(20, 'b') + "\n";
  EXPECT_EQ(width_of(text), 85U);
}

TEST(LineUnwrapper, MemoryIsBoundedForLinesWithoutEnd) {
  std::string text = wrapped(time_outs(), 120);
  auto wrapping = find_wrapping(text);
  ASSERT_TRUE(wrapping);
  LineUnwrapper unwrapper(std::move(*wrapping));
  std::string whole;
  unwrapper.feed(std::string(2000, 'x'), whole);
  EXPECT_EQ(whole.size(), 2000U);
}

}  // namespace
}  // namespace faultline
