#include "ingest/traceback_end.h"

#include <gtest/gtest.h>

#include <vector>

namespace faultline {
namespace {

/// Which of the lines are told; labels "0: " and the like are the ranks.
std::vector<std::string> told(const std::vector<std::string>& lines) {
  TracebackEnd ends;
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    const LinePrefix prefix = parse_job_prefix(line, {});
    if (ends.take(prefix, std::string_view(line).substr(prefix.body))) found.push_back(line);
  }
  return found;
}

const std::string head = "Traceback (most recent call last):";
const std::string frame = "  File \"/app/a.py\", line 3, in f";

std::vector<std::string> ended_by(const std::string& last) {
  return told({"step 1", head, frame, "    go()", "    ^^^^", last, last});
}

TEST(TracebackEnd, AnyNameEndsATraceback) {
  for (const char* last :
       {"Exception: no data", "queue.Empty", "socket.timeout: timed out", "StopIteration",
        "triton.runtime.errors.OutOfResources: out of resource", "_queue.Empty",
        "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:",
        "ErrorDuringLoad: x", "pkg.ErrorHandlerGone: y",
        "subprocess.TimeoutExpired: Command 'x' timed out"}) {
    EXPECT_EQ(ended_by(last), std::vector<std::string>{last});
  }
}

TEST(TracebackEnd, WhatOthersKnowOrSomebodyWantedIsNotTold) {
  for (const char* last :
       {"ValueError: x", "torch.OutOfMemoryError: CUDA out of memory", "KeyboardInterrupt",
        "SystemExit: 1", "pkg.JsonException_Inner: x", "loss: 2.3", "WARNING: x", "step 3 loss 1",
        "Exception ignored in: <function>", "3D: x", "a.: x", ".b: x", ""}) {
    EXPECT_TRUE(ended_by(last).empty()) << last;
  }
}

TEST(TracebackEnd, ALabelMayTakeABlankOfTheFrames) {
  EXPECT_EQ(told({"[default3]:" + head, "[default3]:" + frame, "[default3]:    go()",
                  "[default3]:queue.Empty"}),
            std::vector<std::string>{"[default3]:queue.Empty"});
}

TEST(TracebackEnd, NothingWithoutFramesOrWithoutAHead) {
  EXPECT_TRUE(told({"queue.Empty"}).empty());
  EXPECT_TRUE(told({frame, "queue.Empty"}).empty());
  EXPECT_TRUE(told({head, "queue.Empty"}).empty());
  EXPECT_TRUE(told({head, frame, "step 3", "queue.Empty"}).empty());
}

TEST(TracebackEnd, EachRankHasItsOwn) {
  const std::vector<std::string> lines = {
      "0: " + head,  "1: " + head,     "1: " + frame,       "0: " + frame,
      "2: Epoch: 3", "1: queue.Empty", "0: Exception: two", "0: Exception: late"};
  EXPECT_EQ(told(lines), (std::vector<std::string>{"1: queue.Empty", "0: Exception: two"}));
}

TEST(TracebackEnd, AChainEndsTwice) {
  EXPECT_EQ(told({head, frame, "queue.Empty", "",
                  "During handling of the above exception, another exception occurred:", "", head,
                  frame, "Exception: second"})
                .size(),
            2U);
}

TEST(TracebackEnd, OneThatNeverEndsIsGivenUp) {
  TracebackEnd ends;
  EXPECT_FALSE(ends.is_awaited());
  ends.take({}, head);
  EXPECT_TRUE(ends.is_awaited());
  LinePrefix other;
  other.rank = 1;
  for (int line = 0; line < 5000; ++line) ends.take(other, "step 3");
  EXPECT_FALSE(ends.is_awaited());
}

}  // namespace
}  // namespace faultline
