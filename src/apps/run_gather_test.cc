#include "apps/run_gather.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using Stream = RunLog::Stream;
using std::chrono::milliseconds;

class GatherTest : public testing::Test {
 protected:
  /// A wake-up `after` the one before, at which this stream had something.
  void reads(Stream stream, Duration after, std::size_t bytes = 40) {
    now_ += after;
    gather_.end();
    gather_.read(stream, bytes, now_);
  }

  OutputGather gather_;
  Duration now_{0};
};

TEST_F(GatherTest, WhatFollowsWithinTheTimeGathers) {
  reads(Stream::out, milliseconds{500});
  EXPECT_EQ(gather_.stream(), std::nullopt) << "one line is no rhythm";
  reads(Stream::out, milliseconds{99});
  EXPECT_EQ(gather_.stream(), Stream::out);
  EXPECT_EQ(gather_.until(), now_ + milliseconds{100});
}

TEST_F(GatherTest, ItGoesOnWhileSomethingGathered) {
  reads(Stream::out, milliseconds{500});
  reads(Stream::out, milliseconds{30});
  reads(Stream::out, milliseconds{140});  // late: the machine is busy
  EXPECT_EQ(gather_.stream(), Stream::out);
  EXPECT_EQ(gather_.end(), Stream::out);
  EXPECT_EQ(gather_.gathered(), Stream::out);
  EXPECT_EQ(gather_.end(), std::nullopt) << "nothing had gathered, so it was waited for";
  EXPECT_EQ(gather_.gathered(), std::nullopt);
}

TEST_F(GatherTest, ASlowPrinterIsReadAsItPrints) {
  for (int line = 0; line < 5; ++line) {
    reads(Stream::out, milliseconds{100});
    EXPECT_EQ(gather_.stream(), std::nullopt);
  }
}

TEST_F(GatherTest, OneStreamAtATime) {
  reads(Stream::out, milliseconds{500});
  reads(Stream::err, milliseconds{10});
  reads(Stream::out, milliseconds{10});
  EXPECT_EQ(gather_.stream(), Stream::out);
  reads(Stream::err, milliseconds{10});
  EXPECT_EQ(gather_.gathered(), Stream::out) << "to be read before the line that woke us";
  EXPECT_EQ(gather_.stream(), Stream::err);
}

TEST_F(GatherTest, BulkIsReadAsItComesForAMinute) {
  reads(Stream::out, milliseconds{500});
  reads(Stream::out, milliseconds{1}, OutputGather::bulk_bytes - 1);
  EXPECT_EQ(gather_.stream(), Stream::out);
  reads(Stream::out, milliseconds{1}, OutputGather::bulk_bytes);
  EXPECT_EQ(gather_.stream(), std::nullopt);
  const Duration bulk_at = now_;
  reads(Stream::err, milliseconds{1});
  reads(Stream::err, milliseconds{1});
  EXPECT_EQ(gather_.stream(), Stream::err) << "the other one had no bulk";
  now_ = bulk_at + OutputGather::bulk_time - milliseconds{2};
  reads(Stream::out, milliseconds{0});
  reads(Stream::out, milliseconds{1});
  EXPECT_EQ(gather_.stream(), std::nullopt);
  reads(Stream::out, milliseconds{1});
  EXPECT_EQ(gather_.stream(), Stream::out);
}

TEST_F(GatherTest, NeverIsForEverAndForThatStreamAlone) {
  gather_.never(Stream::out);
  reads(Stream::out, milliseconds{500});
  reads(Stream::out, milliseconds{1}, OutputGather::bulk_bytes);
  now_ += std::chrono::hours{48};
  reads(Stream::out, milliseconds{1});
  reads(Stream::out, milliseconds{1});
  EXPECT_EQ(gather_.stream(), std::nullopt);
  reads(Stream::err, milliseconds{1});
  reads(Stream::err, milliseconds{1});
  EXPECT_EQ(gather_.stream(), Stream::err);
}

}  // namespace
}  // namespace faultline
