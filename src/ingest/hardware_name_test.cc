#include "ingest/hardware_name.h"

#include <gtest/gtest.h>

#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

constexpr std::uint32_t domain_16_bits = 0xffff;

TEST(PossiblePci, BothSidesOfEachLimit) {
  for (const char* address :
       {"0000:3b:00.0", "0000:3B:00", "00000000:3b:00.0", "3b:00.0", "ffff:ff:1f.7", "0005:01:00"})
    EXPECT_TRUE(possible_pci(address, domain_16_bits)) << address;
  for (const char* address :
       {"", "3b", "10000:3b:00.0", "0000:100:00.0", "0000:3b:20.0", "0000:3b:00.8", "0000:3g:00.0",
        "0000::00.0", "0000:3b:", "0000:3b:00.", "0:0:0:0", "-1:3b:00.0", "0000:3b:00.0.0"})
    EXPECT_FALSE(possible_pci(address, domain_16_bits)) << address;
  EXPECT_TRUE(possible_pci("10000:3b:00.0", 0xffffffff)) << "a disk behind VMD";
}

class ImpossibleHardware : public DecoderTest {};

std::string xid(const std::string& address, const std::string& code) {
  return "NVRM: Xid (PCI:" + address + "): " + code + ", pid=1, name=python, text\n";
}

TEST_F(ImpossibleHardware, IsCountedAndMakesNoEvent) {
  std::string log;
  const std::vector<std::string> lines = {
      xid("0000:3b:20", "48"),    xid("0000:3b:00.9", "48"),
      xid("0000:3bf:00", "48"),   xid("10000:3b:00", "48"),
      xid("zzzz:3b:00", "48"),    xid("0000:3b:00", "0"),
      xid("0000:3b:00", "10048"), "NVRM: Xid (PCI:0000:3b:00, 48, pid=1\n"};
  for (const auto& line : lines) log += line;
  const auto events = decode(kernel_origin(), xid("0000:3b:00", "79") + log);
  EXPECT_EQ(signatures(events), std::vector<std::string>{"xid.79"});
  EXPECT_GE(counters_.get("ingest_impossible_hardware_total"), 5U);
}

TEST_F(ImpossibleHardware, PossibleOnesOfTheSameShapeAreTaken) {
  const auto events = decode(kernel_origin(), xid("0000:3b:1f", "48") + xid("ffff:ff:00", "79"));
  EXPECT_EQ(signatures(events), (std::vector<std::string>{"xid.48", "xid.79"}));
  EXPECT_EQ(counters_.get("ingest_impossible_hardware_total"), 0U);
}

}  // namespace
}  // namespace faultline
