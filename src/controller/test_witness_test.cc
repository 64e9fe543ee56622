#include "controller/test_witness.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::seconds;
const Instant t0{std::chrono::hours{24 * 365 * 56}};

const Catalog& catalog() {
  static const Catalog loaded = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value();
  return loaded;
}

Verdict suspicion() {
  Verdict verdict;
  verdict.id = "v-1";
  verdict.cause = "gpu.ecc_uncorrectable";
  verdict.subject = Subject::of_node("n3");
  verdict.status = VerdictStatus::suspected;
  verdict.confidence = 0.7;
  verdict.attempt = AttemptId{"7", 0};
  verdict.since = verdict.updated_at = t0;
  verdict.evidence = {"e-1"};
  verdict.witnesses = {EventSource::job_log};
  return verdict;
}

Event test_of(const std::string& node, const std::string& exit_code, Instant at) {
  Event event;
  event.id = "e-test-" + node + "-" + to_text(at);
  event.source = EventSource::controller;
  event.kind = EventKind::test_finished;
  event.subject = Subject::of_node(node);
  event.observed_at = event.received_at = at;
  event.fields = {{"exit_code", exit_code}};
  event.raw.text = "the test ended with exit code " + exit_code;
  return event;
}

VerdictStatus heard_as(const TestWitness& witness, const Verdict& verdict = suspicion()) {
  return witness.heard(verdict).status;
}

TEST(TestWitness, AFailedTestConfirmsWhatOnlyAJobSaid) {
  TestWitness witness(catalog());
  EXPECT_TRUE(witness.observe(test_of("n3", "1", t0 + seconds{9})));
  const Verdict verdict = witness.heard(suspicion());
  EXPECT_EQ(verdict.status, VerdictStatus::confirmed);
  EXPECT_GT(verdict.confidence, 0.9);
  EXPECT_EQ(verdict.evidence.back(), test_of("n3", "1", t0 + seconds{9}).id);
  EXPECT_EQ(verdict.witnesses.back(), EventSource::controller);
  EXPECT_EQ(verdict.updated_at, t0 + seconds{9});
  EXPECT_EQ(witness.heard(verdict), verdict) << "once";
}

TEST(TestWitness, APassedTestClears) {
  TestWitness witness(catalog());
  witness.observe(test_of("n3", "0", t0 + seconds{9}));
  EXPECT_EQ(heard_as(witness), VerdictStatus::cleared);
}

TEST(TestWitness, IsNotAskedAboutWhatIsNotASuspicionOfAJobAboutHardware) {
  TestWitness witness(catalog());
  witness.observe(test_of("n3", "1", t0 + seconds{9}));
  Verdict verdict = suspicion();
  verdict.witnesses.push_back(EventSource::kernel_log);
  EXPECT_EQ(heard_as(witness, verdict), VerdictStatus::suspected);
  verdict = suspicion();
  verdict.cause = "unknown.no_progress";
  EXPECT_EQ(heard_as(witness, verdict), VerdictStatus::suspected);
  verdict = suspicion();
  verdict.subject = Subject::of_rank({"7", 0}, 3, "n3");
  EXPECT_EQ(heard_as(witness, verdict), VerdictStatus::suspected);
  verdict = suspicion();
  verdict.subject = Subject::of_node("n4");
  EXPECT_EQ(heard_as(witness, verdict), VerdictStatus::suspected);
  verdict = suspicion();
  verdict.status = VerdictStatus::unknown;
  EXPECT_EQ(heard_as(witness, verdict), VerdictStatus::unknown);
}

TEST(TestWitness, ATestFromBeforeSaysNothing) {
  TestWitness witness(catalog());
  witness.observe(test_of("n3", "1", t0 - Duration{1}));
  EXPECT_EQ(heard_as(witness), VerdictStatus::suspected);
  witness.observe(test_of("n3", "1", t0));
  EXPECT_EQ(heard_as(witness), VerdictStatus::confirmed);
}

TEST(TestWitness, TheFirstTestAfterwardsDecidesInWhateverOrderTheyAreHeard) {
  TestWitness witness(catalog());
  witness.observe(test_of("n3", "0", t0 + seconds{900}));  // after the drain and the repair
  witness.observe(test_of("n3", "1", t0 + seconds{9}));
  witness.observe(test_of("n3", "1", t0 + seconds{9}));
  EXPECT_EQ(heard_as(witness), VerdictStatus::confirmed);
}

TEST(TestWitness, OtherEventsAreNoTests) {
  TestWitness witness(catalog());
  Event event = test_of("n3", "1", t0 + seconds{9});
  event.kind = EventKind::outcome;
  EXPECT_FALSE(witness.observe(event));
  EXPECT_EQ(heard_as(witness), VerdictStatus::suspected);
}

}  // namespace
}  // namespace faultline
