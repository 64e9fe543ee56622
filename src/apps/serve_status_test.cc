// What /metrics shows: each series once, whatever agents send, and each with a word of help.
#include "apps/serve_status.h"

#include <gmock/gmock.h>

#include <set>

#include "base/text.h"

namespace faultline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const std::map<std::string, CounterValues>& agents) {
  const CounterValues own = {{"agent_uplink_failures_total", 9}, {"grpc_streams_opened_total", 3}};
  return prometheus_text(status_metrics({}, own, agents, Instant{std::chrono::seconds{100}}));
}

/// The series that stand on the page more than once.
std::vector<std::string> repeated(const std::string& page) {
  std::set<std::string> seen;
  std::vector<std::string> again;
  for (const auto line : split(page, '\n')) {
    const std::string series(line.substr(0, line.rfind(' ')));
    if (!line.empty() && !line.starts_with('#') && !seen.insert(series).second)
      again.push_back(series);
  }
  return again;
}

TEST(ServeStatus, AnAgentsCountersAreSaidByNode) {
  const auto page = page_of({{"n1", {{"ingest_lines_total", 5}, {"agent_events_total", 2}}},
                             {"n2", {{"ingest_lines_total", 6}}}});
  EXPECT_THAT(page, HasSubstr("faultline_agent_ingest_lines_total{node=\"n1\"} 5\n"));
  EXPECT_THAT(page, HasSubstr("faultline_agent_ingest_lines_total{node=\"n2\"} 6\n"));
  EXPECT_THAT(page, HasSubstr("faultline_agent_events_total{node=\"n1\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("faultline_agents 0\n"));
}

TEST(ServeStatus, TwoCountersAreNeverOneSeries) {
  const auto page = page_of({{"n1",
                              {{"uplink_failures_total", 7},
                               {"agent_uplink_failures_total", 4},
                               {"agent_agent_uplink_failures_total", 1}}},
                             {"n2", {{"uplink_failures_total", 8}}}});
  EXPECT_EQ(repeated(page), std::vector<std::string>{}) << page;
  for (const char* line : {"faultline_agent_uplink_failures_total{node=\"n1\"} 4\n",
                           "faultline_agent_agent_uplink_failures_total{node=\"n1\"} 1\n",
                           "faultline_agent_agent_agent_uplink_failures_total{node=\"n1\"} 7\n",
                           "faultline_agent_uplink_failures_total{node=\"n2\"} 8\n",
                           "faultline_agent_uplink_failures_total 9\n"})
    EXPECT_THAT(page, HasSubstr(line));
}

TEST(ServeStatus, NoNameThatAnAgentChoosesRepeatsASeries) {
  CounterValues values;
  for (const char* name : {"s", "agents", "agent_", "agent_s", "_", "agent__", "scheduler_up",
                           "store_up", "agent_agent_", "agent_store_up", "0", "agent_0"})
    values.emplace(name, 1);
  const auto page = page_of({{"n1", values}, {"n2", values}});
  EXPECT_EQ(repeated(page), std::vector<std::string>{}) << page;
}

TEST(ServeStatus, EachMetricSaysWhoseItIs) {
  const auto page = page_of({{"n1", {{"ingest_lines_total", 5}, {"spool_bytes", 1}}}});
  EXPECT_THAT(page, HasSubstr("# HELP faultline_agent_ingest_lines_total What the node's agent "
                              "counts since its start: ingest lines total\n"));
  EXPECT_THAT(page, HasSubstr("# HELP faultline_agent_spool_bytes What the node's agent says of "
                              "now: spool bytes\n"));
  EXPECT_THAT(page, HasSubstr("# HELP faultline_grpc_streams_opened_total What the controller "
                              "counts since its start: grpc streams opened total\n"));
  for (const auto line : split(page, '\n')) {
    if (line.starts_with("# HELP")) {
      EXPECT_GE(split(line, ' ').size(), 6U) << line;
    }
  }
}

}  // namespace
}  // namespace faultline
