#include "detect/kernel_faults.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "detect/confidence.h"

namespace faultline {
namespace {

constexpr Instant start{std::chrono::hours{500000}};

const Catalog& catalog() {
  static const Catalog shipped = std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value());
  return shipped;
}

Fact line(const std::string& signature, const std::string& gpu, int seconds, Fields fields = {}) {
  Event event;
  event.source = EventSource::kernel_log;
  event.signature = signature;
  event.subject = Subject::of_gpu("n1", gpu);
  event.reporter = "n1";
  event.fields = std::move(fields);
  event.observed_at = event.received_at = start + std::chrono::seconds{seconds};
  event.id = make_event_id(event);
  return {event, event.observed_at, event.received_at};
}

TEST(KernelFaults, OneForEachCauseAndSubjectHoweverOften) {
  std::vector<Fact> facts;
  for (int run = 0; run < 4; ++run) {
    facts.push_back(line("xid.31", run % 2 == 0 ? "0000:01:00.0" : "0000:02:00.0", run * 3600));
    facts.push_back(line("xid.74", "0000:03:00.0", run * 3600 + 100));
  }
  std::set<std::pair<std::string, std::string>> seen;
  const auto faults = judge_kernel_facts(facts, catalog());
  for (const KernelFault& fault : faults)
    EXPECT_TRUE(seen.emplace(fault.cause->id, fault.subject.text()).second);
  EXPECT_EQ(faults.size(), 3U);
}

TEST(KernelFaults, TheEarliestIsFirst) {
  const std::vector<Fact> facts = {line("xid.64", "0000:09:00.0", 0),
                                   line("xid.79", "0000:01:00.0", 30)};
  const auto faults = judge_kernel_facts(facts, catalog());
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].subject.part, "0000:09:00.0");
}

TEST(KernelFaults, LaterCodesOfABrokenGpuJoinItUntilTheIncidentIsOver) {
  const auto faults_with = [](int seconds) {
    return judge_kernel_facts(
        {line("xid.119", "0000:01:00.0", 0), line("xid.79", "0000:01:00.0", seconds)}, catalog());
  };
  EXPECT_EQ(faults_with(600).size(), 1U);
  EXPECT_EQ(faults_with(601).size(), 2U);
}

TEST(KernelFaults, AClearingLineTakesBackWhatWasBeforeItOnItsOwnSubject) {
  const auto faults_with = [](const std::string& gpu, int seconds) {
    return judge_kernel_facts({line("xid154.reboot", "0000:01:00.0", 10),
                               line("xid154.none_after_reboot", gpu, seconds)},
                              catalog())
        .size();
  };
  EXPECT_EQ(faults_with("0000:01:00.0", 11), 0U);
  EXPECT_EQ(faults_with("0000:01:00.0", 10), 0U);
  EXPECT_EQ(faults_with("0000:01:00.0", 9), 1U) << "it came again";
  EXPECT_EQ(faults_with("0000:02:00.0", 11), 1U) << "another GPU's";
  EXPECT_EQ(judge_kernel_facts({line("xid154.reboot", "0000:01:00.0", 0),
                                line("xid154.none_after_reset", "0000:01:00.0", 5)},
                               catalog())
                .size(),
            1U)
      << "another wish";
}

/// A port that goes down at each of `lost` and is up again `outage` seconds later.
std::vector<Fact> flaps(const std::vector<int>& lost, int outage) {
  std::vector<Fact> facts;
  for (const int at : lost) {
    facts.push_back(line("mlx5.link", "0000:5e:00.0", at));
    facts.push_back(line("mlx5.link.up", "0000:5e:00.0", at + outage));
  }
  return facts;
}

TEST(KernelFaults, APortThatIsUpAgainIsNoReasonToActUnlessItFlaps) {
  const auto judge = [](const std::vector<Fact>& facts) {
    return judge_kernel_facts(facts, catalog());
  };
  ASSERT_EQ(judge(flaps({0}, 3)).size(), 1U);
  EXPECT_TRUE(judge(flaps({0}, 3))[0].brief) << "nobody noticed, but who lost a transfer";
  EXPECT_LT(judge(flaps({0}, 3))[0].confidence, confidence::even);
  ASSERT_EQ(judge(flaps({0}, 4)).size(), 1U);
  EXPECT_FALSE(judge(flaps({0}, 4))[0].brief);
  EXPECT_LT(judge(flaps({0}, 4))[0].confidence, confidence::even);
  EXPECT_LT(judge(flaps({0}, 240))[0].confidence, confidence::even);
  EXPECT_EQ(judge(flaps({0}, 241))[0].confidence, confidence::even) << "it was down for long";
  EXPECT_EQ(judge({line("mlx5.link", "0000:5e:00.0", 0)})[0].confidence, confidence::even);
  EXPECT_TRUE(judge(flaps({0, 1800}, 2))[0].brief);
  ASSERT_EQ(judge(flaps({0, 1800, 3600}, 2)).size(), 1U) << "again and again";
  EXPECT_FALSE(judge(flaps({0, 1800, 3600}, 2))[0].brief);
  EXPECT_EQ(judge(flaps({0, 1800, 3600}, 2))[0].confidence, confidence::even);
  EXPECT_TRUE(judge(flaps({0, 3601, 7202}, 2))[0].brief) << "hours apart";
}

TEST(KernelFaults, OneMultiprocessorInTwoRunsIsTheGpuUnlessAnotherFaultsThere) {
  const auto at_tpc = [](const std::string& gpu, int days, const std::string& tpc) {
    return line("xid.13", gpu, days * 86400,
                {{"gpc", "3"}, {"tpc", tpc}, {"pid", std::to_string(1000 + days)}});
  };
  const auto causes = [](const std::vector<Fact>& facts) {
    std::set<std::string> ids;
    for (const KernelFault& fault : judge_kernel_facts(facts, catalog()))
      ids.insert(fault.cause->id);
    return ids;
  };
  const std::string card = "0000:01:00.0", other = "0000:02:00.0";
  EXPECT_TRUE(causes({at_tpc(card, 0, "1"), at_tpc(card, 3, "1")}).contains("gpu.sm_exception"));
  EXPECT_FALSE(causes({at_tpc(card, 0, "1"), at_tpc(card, 3, "2")}).contains("gpu.sm_exception"));
  EXPECT_FALSE(causes({at_tpc(card, 0, "1"), at_tpc(other, 1, "1"), at_tpc(card, 3, "1")})
                   .contains("gpu.sm_exception"));
  EXPECT_TRUE(causes({at_tpc(card, 0, "1"), at_tpc(other, 1, "7"), at_tpc(card, 3, "1")})
                  .contains("gpu.sm_exception"))
      << "elsewhere is another matter";
}

TEST(KernelFaults, NothingFromNothing) {
  EXPECT_TRUE(judge_kernel_facts(FactList{}, catalog()).empty());
}

}  // namespace
}  // namespace faultline
