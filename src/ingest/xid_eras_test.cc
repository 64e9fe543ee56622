// The driver's Xid line through its generations, from closed drivers of 2017 to 595: the same fault
// must come out the same.
#include <gtest/gtest.h>

#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

struct Era {
  const char* name;
  std::string line;
  std::string signature;
  Fields fields;  // that must come out exactly
  std::vector<std::string> absent;
  std::string address = "0000:06:00.0";
};

class XidEras : public DecoderTest, public testing::WithParamInterface<Era> {};

TEST_P(XidEras, IsRead) {
  const Era& era = GetParam();
  for (const std::string head : {"", "[901233.11] ", "[901233.11][ T1946] ", "3,77,5000000,-;",
                                 "Feb 28 09:14:02 n3 kernel: ",
                                 "2026-02-28T09:14:02.5+00:00 n3 kernel: [901233.11] [ T1946] "}) {
    const auto events = decode(kernel_origin(), head + era.line + "\n");
    ASSERT_EQ(events.size(), 1U) << head << era.line;
    EXPECT_EQ(events[0].signature, era.signature) << head;
    EXPECT_EQ(events[0].subject, Subject::of_gpu("n3", era.address)) << head;
    for (const auto& [name, value] : era.fields)
      EXPECT_EQ(events[0].field(name), value) << head << name;
    for (const auto& name : era.absent)
      EXPECT_FALSE(events[0].fields.contains(name)) << head << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Drivers, XidEras,
    testing::Values(
        Era{"closed_2017",
            "NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
            "xid.79",
            {{"xid", "79"}},
            {"pid", "proc"}},
        Era{"very_old_without_pci",
            "NVRM: Xid (0000:06:00): 79, GPU has fallen off the bus.",
            "xid.79",
            {{"xid", "79"}},
            {"pid"}},
        Era{"r450_to_r510",
            "NVRM: Xid (PCI:0000:06:00): 79, pid=1896, GPU has fallen off the bus.",
            "xid.79",
            {{"pid", "1896"}},
            {"proc"}},
        Era{"open_515",
            "NVRM: Xid (PCI:0000:06:00): 31, pid=1896, name=python3, Ch 00000013, intr 00000000. "
            "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_4 faulted @ 0x7f3a_2c000000. Fault is of type "
            "FAULT_PDE ACCESS_TYPE_VIRT_READ",
            "xid.31",
            {{"pid", "1896"}, {"proc", "python3"}},
            {}},
        Era{"open_515_unknown",
            "NVRM: Xid (PCI:0000:06:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
            "the bus.",
            "xid.79",
            {{"xid", "79"}},
            {"pid", "proc"}},
        Era{"570_without_names",
            "NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.",
            "xid.79",
            {},
            {"pid", "proc"}},
        Era{"570_124_derivative",
            "NVRM: Xid (PCI:0000:06:00): 45, pid=31, name=python3, Ch 00000008 caused by previous "
            "Xid 149",
            "xid.45",
            {{"root_xid", "149"}, {"pid", "31"}},
            {}},
        Era{"non_zero_domain",
            "NVRM: Xid (PCI:0018:01:00): 79, GPU has fallen off the bus.",
            "xid.79",
            {},
            {},
            "0018:01:00.0"},
        Era{"wide_domain",
            "NVRM: Xid (PCI:00000018:01:00): 79, GPU has fallen off the bus.",
            "xid.79",
            {},
            {},
            "0018:01:00.0"},
        Era{"mig",
            "NVRM: Xid (PCI:0000:06:00 GPU-I:05 GPU-CI:01): 94, pid=7194, name=python3, Contained: "
            "CE User Channel (0x9). RST: No, D-RST: No",
            "xid.94",
            {{"mig", "05"}, {"rst", "No"}, {"drst", "No"}},
            {}},
        Era{"gsp_515",
            "NVRM: Xid (PCI:0000:06:00): 119, pid=430, name=nv_queue, Timeout waiting for RPC from "
            "GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x8).",
            "xid.119",
            {{"pid", "430"}},
            {}},
        Era{"gsp_530",
            "NVRM: Xid (PCI:0000:06:00): 119, pid=430, name=nv_queue, Timeout waiting for RPC from "
            "GSP0! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x8).",
            "xid.119",
            {{"pid", "430"}},
            {}},
        Era{"gsp_550",
            "NVRM: Xid (PCI:0000:06:00): 119, pid=1582259, name=nvc:[driver], Timeout after 6s of "
            "waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) "
            "(0x20802a02 0x8).",
            "xid.119",
            {{"gpu_index", "1"}, {"secs", "6"}, {"function", "76"}},
            {"sequence"}},
        Era{"gsp_595",
            "NVRM: Xid (PCI:0000:06:00): 119, pid=1582259, name=nvc:[driver], Timeout after 6s of "
            "waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) "
            "sequence 1234 (0x20802a02 0x8).",
            "xid.119",
            {{"sequence", "1234"}},
            {}},
        Era{"recovery_565",
            "NVRM: Xid (PCI:0000:06:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
            "(GPU Reset Required)",
            "xid154.reset",
            {{"xid", "154"}},
            {}},
        Era{"code_without_signature",
            "NVRM: Xid (PCI:0000:06:00): 999, pid=1, name=x, something new",
            "nvrm.xid.generic",
            {{"xid", "999"}, {"body", "something new"}},
            {}}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace faultline
