#include "ingest/nccl_names.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

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

TEST(NcclNames, WritesRanksAsRanges) {
  EXPECT_EQ(rank_ranges({}, 100), Texts{});
  EXPECT_EQ(rank_ranges({7}, 100), Texts{"7"});
  EXPECT_EQ(rank_ranges({0, 1, 2, 3, 8}, 100), Texts{"0-3,8"});
  EXPECT_EQ(rank_ranges({0, 4, 8, 12}, 100), Texts{"0-12:4"});
  EXPECT_EQ(rank_ranges({3, 9}, 100), Texts{"3,9"});
  EXPECT_EQ(rank_ranges({1, 5, 70}, 4), (Texts{"1,5", "70"}));
}

}  // namespace
}  // namespace faultline
