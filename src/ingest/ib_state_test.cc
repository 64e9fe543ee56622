#include "ingest/ib_state.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

class IbStateTest : public RecordTest {
 protected:
  std::vector<Event> ports(const std::string& text, std::size_t chunk = 4096) {
    Origin origin = file_origin();
    origin.node = "n3";
    IbStateDecoder decoder(databases(), origin, counters_);
    return run(decoder, text, chunk);
  }
  Texts told(const std::string& text) { return briefs(ports(text)); }
};

std::string port(int number, const std::string& state, const std::string& physical, int lid) {
  return "\tPort " + std::to_string(number) + ":\n\t\tState: " + state +
         "\n\t\tPhysical state: " + physical +
         "\n\t\tRate: 400\n\t\tBase lid: " + std::to_string(lid) +
         "\n\t\tLMC: 0\n\t\tSM lid: 1\n\t\tPort GUID: 0xc470bd0300cf4964\n\t\tLink layer: "
         "InfiniBand\n";
}

std::string card(const std::string& name, const std::string& ports) {
  return "CA '" + name + "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tNode GUID: 0x1\n" + ports;
}

TEST_F(IbStateTest, AnActivePortIsQuiet) {
  EXPECT_TRUE(told(card("mlx5_0", port(1, "Active", "LinkUp", 12))).empty());
  EXPECT_EQ(counters_.get("ingest_ib_ports_total"), 1U);
}

TEST_F(IbStateTest, APortThatNoSubnetManagerHasSetUp) {
  const std::string text = card("mlx5_0", port(1, "Active", "LinkUp", 12)) +
                           card("mlx5_1", port(1, "Initializing", "LinkUp", 65535));
  const auto events = ports(text);
  EXPECT_EQ(briefs(events),
            Texts{"ib.port.no_subnet link:n3/mlx5_1:1 @" + std::to_string(text.rfind("\tPort 1"))});
  EXPECT_EQ(events[0].source, EventSource::kernel_log);
  EXPECT_EQ(events[0].field("state"), "Initializing");
  EXPECT_EQ(to_text(events[0].observed_at), "2026-12-01T00:00:00.000000Z")
      << "when it was written: the tools print no time";
}

TEST_F(IbStateTest, APortThatLostItsLinkHadAnAddress) {
  const std::string lost = card("mlx5_0", port(1, "Down", "Polling", 12));
  EXPECT_EQ(told(lost),
            Texts{"ib.port.lost link:n3/mlx5_0:1 @" + std::to_string(lost.find("\tPort 1"))});
  EXPECT_EQ(told(card("mlx5_0", port(1, "Down", "LinkErrorRecovery", 0))).size(), 1U);
}

TEST_F(IbStateTest, APortThatNeverHadACableIsNoFault) {
  const auto lead = told(card("mlx5_0", port(1, "Down", "Polling", 0)));
  ASSERT_EQ(lead.size(), 1U);
  EXPECT_TRUE(lead[0].starts_with("ib.port.down ")) << "never enough by itself";
  EXPECT_TRUE(told(card("mlx5_0", port(1, "Down", "Disabled", 0))).empty());
  EXPECT_TRUE(
      told(card("mlx4_0", port(1, "Active", "LinkUp", 12) + port(2, "Down", "Polling", 0))).empty())
      << "the second port of a card in use";
  EXPECT_TRUE(
      told(card("mlx4_0", port(1, "Active", "LinkUp", 12) + port(2, "Down", "Disabled", 65535)))
          .empty());
  EXPECT_EQ(
      told(card("mlx4_0", port(1, "Active", "LinkUp", 12) + port(2, "Down", "Polling", 13))).size(),
      1U)
      << "it had an address";
}

TEST_F(IbStateTest, ReadsIbstatus) {
  EXPECT_EQ(told("Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80::1\n"
                 "\tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n\tstate:\t\t 2: INIT\n"
                 "\tphys state:\t 5: LinkUp\n\trate:\t\t 400 Gb/sec (4X NDR)\n"
                 "\tlink_layer:\t InfiniBand\n\n"
                 "Infiniband device 'mlx5_1' port 1 status:\n\tstate:\t\t 4: ACTIVE\n"
                 "\tphys state:\t 5: LinkUp\n"),
            Texts{"ib.port.no_subnet link:n3/mlx5_0:1 @0"});
}

TEST_F(IbStateTest, ReadsIbvDevinfo) {
  const std::string text =
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1\n"
      "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tmax_mtu:\t\t4096 (5)\n"
      "\t\t\tport_lid:\t\t7\n\t\t\tlink_layer:\t\tInfiniBand\n\t\t\tphys_state:\t\tPOLLING (2)\n"
      "hca_id:\tmlx5_1\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n";
  EXPECT_EQ(told(text),
            Texts{"ib.port.lost link:n3/mlx5_0:1 @" + std::to_string(text.find("\t\tport:"))});
}

TEST_F(IbStateTest, ReadsWhatIbdiagnetFound) {
  EXPECT_EQ(told("-I- Discovering\n-E- n7/mlx5_2/P1 - \"symbol_error_counter\" increased during "
                 "the run (difference value=120)\n-E- Failed to open port\n"
                 "-W- n8/mlx5_2/P1 - increased during the run\n"),
            Texts{"ibdiagnet.port node:n3 @16"})
      << "a node's own log speaks of that node";
  IbStateDecoder decoder(databases(), file_origin(), counters_);
  const auto events = run(decoder,
                          "Timestamp:   2025-02-11 03:21:44 UTC +0000\n"
                          "-E- S946dae0300a1b2c3/Nn7/P1 - Link is in state INIT\n"
                          "-E- S946dae0300a1b2c3/N946dae0300a1b2c3/P1 - Link is in state INIT\n",
                          4096);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(brief(events[0]), "ibdiagnet.port node:n7 @43");
  EXPECT_EQ(to_text(events[0].observed_at), "2025-02-11T03:21:44.000000Z");
}

TEST_F(IbStateTest, IsTheSameHoweverTheBytesAreCut) {
  const std::string text = card("mlx5_0", port(1, "Down", "Polling", 12));
  const auto whole = ports(text);
  for (std::size_t chunk = 1; chunk < text.size(); chunk += 7)
    EXPECT_EQ(ports(text, chunk), whole) << chunk;
}

TEST_F(IbStateTest, NamesThatCannotBeAreNone) {
  EXPECT_TRUE(told("CA '$(x)'\n\tPort 1:\n\t\tState: Initializing\n").empty());
  EXPECT_TRUE(told("CA 'mlx5_0'\n\tPort 1999:\n\t\tState: Initializing\n").empty());
  EXPECT_TRUE(told("\tPort 1:\n\t\tState: Initializing\n").empty()) << "of no card";
  EXPECT_TRUE(told("CA '\nPort :\nport:\nInfiniband device status:\n-E- /mlx\n-E-\n").empty());
}

}  // namespace
}  // namespace faultline
