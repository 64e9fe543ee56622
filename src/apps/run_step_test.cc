#include "apps/run_step.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(StepIn, FormsOfTrainingLoops) {
  for (const char* line :
       {"step 120 loss 2.31", "[rank0] Step: 120/1000", "iter 120/1000", "global_step=120",
        " iteration      120/  1000 | consumed samples: 1", "{'step': 120, 'loss': 2.3}",
        "\"step\": 120,", "step 119 done, step 120", "train_step[120]", "iter: 120.", "step #120"})
    EXPECT_EQ(step_in(line), 120U) << line;
}

TEST(StepIn, LookAlikesNameNone) {
  for (const char* line :
       {"", "step", "0.31 s/step", "step time 12", "step 0.5", "step 12% done",
        "steps per second 12", "stepping 12", "footstep 12", "iterations 500", "reiterate 3",
        "step 12ms", "step-12", "loss 120", "step 99999999999999999999999"})
    EXPECT_EQ(step_in(line), std::nullopt) << line;
}

TEST(StepWatch, KeepsTheLastOfTheStream) {
  StepWatch steps;
  steps.output("step 1\nstep 2\nsaved\n");
  EXPECT_EQ(steps.last(), 2U);
  steps.output("Traceback\n");
  EXPECT_EQ(steps.last(), 2U);
  steps.output("step 1\n");  // resumed from an older checkpoint in the same process
  EXPECT_EQ(steps.last(), 1U);
}

TEST(StepWatch, LinesCutAnywhereAreNotHalfRead) {
  const std::string text = "step 120 loss 1\r\nstep 121 loss 1\r";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    StepWatch steps;
    steps.output(text.substr(0, at));
    EXPECT_NE(steps.last(), 12U) << at;
    EXPECT_NE(steps.last(), 1U) << at;
    steps.output(text.substr(at));
    EXPECT_EQ(steps.last(), 121U) << at;
  }
}

TEST(StepWatch, LongOutputIsLookedAtFromItsEnd) {
  StepWatch steps;
  steps.output("step 7\n" + std::string(5000, 'x') + "\nstep 8\n" + std::string(100, 'y') + "\n");
  EXPECT_EQ(steps.last(), 8U);
  steps.output("step 9 " + std::string(100000, 'x'));  // an endless line costs no memory
  steps.output(std::string(100000, '\0') + "step 10\n");
  EXPECT_EQ(steps.last(), 8U) << "what was cut off may have belonged to it";
  steps.output("step 11\n");
  EXPECT_EQ(steps.last(), 11U);
}

}  // namespace
}  // namespace faultline
