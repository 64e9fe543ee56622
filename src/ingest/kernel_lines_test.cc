#include "ingest/kernel_lines.h"

#include <gtest/gtest.h>

#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

class KernelBootTest : public DecoderTest {
 protected:
  std::size_t ports_lost(const std::string& text) {
    std::size_t lost = 0;
    for (const Event& event : decode(kernel_origin(), text))
      lost += event.signature == "mlx5.link" ? 1 : 0;
    return lost;
  }
};

const std::string up = "mlx5_core 0000:c1:00.0 ens1f0np0: Link up\n";
const std::string down = "mlx5_core 0000:c1:00.0 ens1f0np0: Link down\n";
const std::string boot = "Linux version 6.8.0-45-generic (buildd@host)\n";

TEST_F(KernelBootTest, APortThatWasUpIsLostHoweverYoungTheMachineIs) {
  EXPECT_EQ(ports_lost("4,1,10000000,-;" + up + "4,2,270000000,-;" + down), 1U);
  EXPECT_EQ(ports_lost("4,2,270000000,-;" + down), 0U) << "it never had a cable";
  EXPECT_EQ(ports_lost("4,2,301000000,-;" + down), 1U) << "set up by now";
  const std::string other = "mlx5_core 0000:c1:00.1 ens1f1np1: Link up\n";
  EXPECT_EQ(ports_lost("4,1,10000000,-;" + other + "4,2,270000000,-;" + down), 0U);
}

TEST_F(KernelBootTest, WhatWasUpBeforeTheRebootDoesNotCount) {
  EXPECT_EQ(ports_lost("[10.0] " + up + "[0.0] " + boot + "[12.0] " + down), 0U);
  EXPECT_EQ(ports_lost("[0.0] " + boot + "[10.0] " + up + "[12.0] " + down), 1U);
}

TEST_F(KernelBootTest, OfMorePortsThanAnyLogNamesNoneIsLeftOut) {
  std::string text;
  for (int i = 0; i < 16'384; ++i)
    text += "[1.0] mlx5_core 0000:c1:00.0 eth" + std::to_string(i) + ": Link up\n";
  EXPECT_EQ(ports_lost(text + "[12.0] " + down), 1U);
}

}  // namespace
}  // namespace faultline
