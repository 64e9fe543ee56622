#include "ingest/nccl_names.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(NcclNames, OneSpellingForACommunicator) {
  EXPECT_EQ(communicator_name("0xae94423cfbb2ef4a"), "0xae94423cfbb2ef4a");
  EXPECT_EQ(communicator_name("00e62dedaa97644a"), "0xe62dedaa97644a");
  EXPECT_EQ(communicator_name("0xE6"), "0xe6");
  for (const char* none : {"", "0x", "x", "0x1 ", "123456789abcdef01"})
    EXPECT_EQ(communicator_name(none), "") << none;
}

TEST(NcclNames, ReadsAGpusAddress) {
  EXPECT_EQ(bus_address("b7000"), "0000:b7:00.0");
  EXPECT_EQ(bus_address("1b7000"), "0001:b7:00.0");
  EXPECT_EQ(bus_address("901c0"), "0000:90:1c.0");
  EXPECT_EQ(bus_address("0000:b7:00.0"), "0000:b7:00.0");
  EXPECT_EQ(bus_address("00000000:B7:00.0"), "0000:b7:00.0");
  for (const char* none :
       {"", "0", "xyz", "ffffffffffffffff", "b7ff0", "b7:zz", "ffffffffffffffffff"})
    EXPECT_EQ(bus_address(none), "") << none;
}

}  // namespace
}  // namespace faultline
