#include "base/backoff.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToTheLimitWithJitterInTheUpperHalf) {
  Backoff backoff(milliseconds{500}, seconds{60}, Rng(1));
  Duration step = milliseconds{500};
  for (int i = 0; i < 20; ++i) {
    const Duration wait = backoff.next();
    EXPECT_GE(wait, step / 2);
    EXPECT_LE(wait, step);
    step = std::min<Duration>(seconds{60}, step * 2);
  }
}

TEST(Backoff, StartsOverAfterSuccessAndDiffersBySeed) {
  Backoff backoff(milliseconds{500}, seconds{60}, Rng(1));
  Backoff other(milliseconds{500}, seconds{60}, Rng(2));
  EXPECT_NE(backoff.next(), other.next());
  backoff.next();
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds{500});
}

}  // namespace
}  // namespace faultline
