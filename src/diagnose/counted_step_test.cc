#include "diagnose/counted_step.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(CountedStep, LinesThatCountSteps) {
  EXPECT_EQ(counted_step("iteration      120/  500000 | consumed samples: 12"), 120);
  EXPECT_EQ(counted_step("step: 7  loss: 10.1"), 7);
  EXPECT_EQ(counted_step("Step 19000, lr 0.1"), 19000);
  EXPECT_EQ(counted_step("global_step=33 loss=2"), 33);
  EXPECT_EQ(counted_step("Iter[12] loss"), 12);
  EXPECT_EQ(counted_step(" 12%|#2        | 123/1000 [01:02<07:10,  2.0it/s]"), 123);
}

TEST(CountedStep, LinesThatDoNot) {
  for (const std::string_view line :
       {"elapsed time per iteration (ms): 812.1", "step_time: 3", "steps/s: 12", "step 1.5",
        "loss: 7", "footstep 4", "step", "iteration", "", "| 3/4", "step 99999999999999999999"})
    EXPECT_FALSE(counted_step(line)) << line;
}

TEST(CountedStep, BatchesOfAnEpochGoOnInTheNext) {
  const std::string_view ascending[] = {
      "Train Epoch: 2 [  409600/10968539 (4%)] Data (t): 0.132 Batch (t): 1.2 Loss: 3.1",
      "Train Epoch: 2 [  819200/10968539 (7%)] Data (t): 0.132 Batch (t): 1.2 Loss: 3.0",
      "Train: 3 [   0/1251 (  0%)]  Loss: 6.91 (6.91)  Time: 2.1s",
      "Train: 3 [ 300/1251 ( 24%)]  Loss: 6.80 (6.85)  Time: 0.4s",
      "Epoch: [3]  [ 1120/5004]  eta: 0:12:03  lr: 0.000400  loss: 6.1 (6.2)",
      "Epoch: [4][ 120/5005]\tTime  0.9 ( 1.0)",
      "Epoch [5/12] Batch 7/400 loss 2.1",
      "| epoch 006:    120 / 3000 loss=4.1, ppl=17",
      "Epoch 7:   6%|6         | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6]",
  };
  std::int64_t last = -1;
  for (const std::string_view line : ascending) {
    const auto step = counted_step(line);
    ASSERT_TRUE(step) << line;
    EXPECT_GT(*step, last) << line;
    last = *step;
  }
}

TEST(CountedStep, AnEpochAloneOrADateCountsNoBatch) {
  for (const std::string_view line :
       {"Epoch 3", "epoch 3/10 done", "Error in epoch 3", "Epoch: [x] [1/2]", "Train: 12",
        "epoch 3 at 2026/03/01", "Epoch: [3] [ 12/5", "epoch 1 [5/4]"})
    EXPECT_FALSE(counted_step(line)) << line;
}

}  // namespace
}  // namespace faultline
