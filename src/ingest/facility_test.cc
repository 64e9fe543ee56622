// Whose a record of the kernel's log is, by its facility.
#include <gtest/gtest.h>

#include "ingest/decoder_fixture.h"
#include "ingest/line_prefix.h"

namespace faultline {
namespace {

const std::string xid_79 =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n";

TEST(Facility, IsReadWhereverALineTellsIt) {
  for (const std::string_view head :
       {"12,501,1001,-;", "11,501,1001,-;", "8,1,1,-;", "user  :warn  : [   13.345678] ",
        "daemon:info  : [   13.345678] ", "<12>[   13.345678] ", "<30>Oct 02 09:14:02 n3 kernel: "})
    EXPECT_TRUE(parse_system_prefix(std::string(head) + xid_79).from_process) << head;
  for (const std::string_view head :
       {"4,501,1001,-;", "7,1,1,-;", "kern  :warn  : [   13.345678] ", "<4>[   13.345678] ",
        "[   13.345678] ", "Oct 02 09:14:02 n3 kernel: "})
    EXPECT_FALSE(parse_system_prefix(std::string(head) + xid_79).from_process) << head;
}

class FacilityTest : public DecoderTest {};

TEST_F(FacilityTest, OfASavedFileOnlyTheKernelsLinesCount) {
  Origin saved = kernel_origin();
  saved.facility_kernel_only = true;
  EXPECT_TRUE(decode(saved, "12,501,1001,-;" + xid_79).empty());
  EXPECT_EQ(counters_.get("ingest_not_kernel_lines_total"), 1U);
  EXPECT_EQ(decode(saved, "4,501,1001,-;" + xid_79).size(), 1U);
}

TEST_F(FacilityTest, DaemonsOfTheNodeAreHeardInASavedFileAlone) {
  const std::string line =
      "Oct 02 09:14:02 n3 nv-fabricmanager[812]: detected NVSwitch fatal error 20034 on fid 0\n";
  Origin saved = kernel_origin();
  saved.facility_kernel_only = true;
  EXPECT_EQ(decode(saved, line).size(), 1U);
  EXPECT_TRUE(decode(kernel_origin(), line).empty());
}

TEST_F(FacilityTest, ADaemonsNameMakesNoKernelOfAnybody) {
  Origin saved = kernel_origin();
  saved.facility_kernel_only = true;
  EXPECT_TRUE(decode(saved, "Oct 02 09:14:02 n3 nv-fabricmanager[812]: " + xid_79).empty());
  EXPECT_TRUE(
      decode(saved, "<30>1 2026-10-02T09:14:02Z n3 nv-fabricmanager 812 - - " + xid_79).empty());
}

TEST_F(FacilityTest, AnAgentCountsWhatRootWrites) {
  EXPECT_EQ(decode(kernel_origin(), "11,501,1001,-;" + xid_79).size(), 1U);
}

}  // namespace
}  // namespace faultline
