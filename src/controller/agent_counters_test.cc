#include "controller/agent_counters.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(AgentCounters, TheNewestValueOfEachNameStands) {
  Counters counters;
  AgentCounters agents(counters);
  agents.heard("n1", {{"ingest_lines_total", 5}, {"spool_events", 2}});
  agents.heard("n2", {{"ingest_lines_total", 7}});
  agents.heard("n1", {{"ingest_lines_total", 9}});
  const CounterValues expected = {{"ingest_lines_total", 9}, {"spool_events", 2}};
  EXPECT_EQ(agents.by_node().at("n1"), expected);
  EXPECT_EQ(agents.by_node().at("n2").at("ingest_lines_total"), 7U);
  EXPECT_EQ(counters.get("controller_agent_counters_refused_total"), 0U);
}

TEST(AgentCounters, NamesThatNoCounterHasAreRefusedAndCounted) {
  Counters counters;
  AgentCounters agents(counters);
  agents.heard("n1", {{"", 1},
                      {"a\"} 1\nforged_total", 1},
                      {"Upper", 1},
                      {std::string(81, 'a'), 1},
                      {std::string(80, 'a'), 1}});
  EXPECT_EQ(agents.by_node().at("n1").size(), 1U);
  EXPECT_EQ(counters.get("controller_agent_counters_refused_total"), 4U);
}

TEST(AgentCounters, ManyNamesAreCutAndTheKnownOnesGoOn) {
  Counters counters;
  AgentCounters agents(counters);
  CounterValues many;
  for (std::size_t i = 0; i < AgentCounters::names_per_node_max; ++i)
    many.emplace("c_" + std::to_string(i), 1);
  agents.heard("n1", many);
  EXPECT_EQ(counters.get("controller_agent_counters_refused_total"), 0U);
  agents.heard("n1", {{"one_more", 1}, {"c_0", 2}});
  EXPECT_EQ(agents.by_node().at("n1").size(), AgentCounters::names_per_node_max);
  EXPECT_EQ(agents.by_node().at("n1").at("c_0"), 2U);
  EXPECT_EQ(counters.get("controller_agent_counters_refused_total"), 1U);
}

}  // namespace
}  // namespace faultline
