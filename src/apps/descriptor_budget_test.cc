#include "apps/descriptor_budget.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace faultline {
namespace {

TEST(DescriptorBudget, WithEnoughTheLimitsAreTheAgentsOwn) {
  for (const std::size_t descriptors : {4096, 1 << 20}) {
    const auto budget = budget_of(descriptors);
    EXPECT_EQ(budget.connections_max, 1024U);
    EXPECT_EQ(budget.connections_per_user_max, 512U);
    EXPECT_EQ(budget.logs_max, 512U);
  }
}

TEST(DescriptorBudget, OthersNeverTakeMoreThanHalf) {
  for (std::size_t descriptors = 0; descriptors <= 5000; ++descriptors) {
    const auto budget = budget_of(descriptors);
    ASSERT_LE(budget.connections_max + 2 * budget.logs_max, descriptors / 2) << descriptors;
    ASSERT_LE(2 * budget.connections_per_user_max, budget.connections_max) << "nor one user all";
  }
}

TEST(DescriptorBudget, TheLimitIsRaisedAndNeverLowered) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(before.rlim_max, 256);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(), std::min<rlim_t>(before.rlim_max, 4096));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(raise_descriptor_limit(), before.rlim_cur);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace faultline
