#include "detect/verdict_book.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

constexpr Instant start{std::chrono::hours{1000}};

struct Sent final : VerdictSink {
  void verdict(const Verdict& verdict) override { all.push_back(verdict); }
  std::vector<Verdict> all;
};

class VerdictBookTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    catalog_ = new Catalog(std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value()));
  }
  static void TearDownTestSuite() { delete catalog_; }

  static Verdict make(const std::string& cause, Subject subject, std::vector<EventId> evidence,
                      VerdictStatus status = VerdictStatus::confirmed) {
    Verdict verdict;
    verdict.cause = cause;
    verdict.subject = std::move(subject);
    verdict.evidence = std::move(evidence);
    verdict.status = status;
    verdict.since = start;
    return verdict;
  }

  void settle(std::vector<Verdict> holding, Instant now = start) {
    book_.settle("n1", std::move(holding), *catalog_, now, sent_);
  }

  static inline Catalog* catalog_ = nullptr;
  VerdictBook book_{"test"};
  Sent sent_;
};

const Subject gpu = Subject::of_gpu("n1", "0000:3b:00.0");

TEST_F(VerdictBookTest, SendsOnceUntilSomethingChanges) {
  settle({make("gpu.gsp_timeout", gpu, {"e-1"})});
  settle({make("gpu.gsp_timeout", gpu, {"e-1"})}, start + std::chrono::seconds{1});
  ASSERT_EQ(sent_.all.size(), 1U);
  EXPECT_EQ(sent_.all[0].detector, "test");
  settle({make("gpu.gsp_timeout", gpu, {"e-1", "e-2"})}, start + std::chrono::seconds{2});
  ASSERT_EQ(sent_.all.size(), 2U);
  EXPECT_EQ(sent_.all[1].updated_at, start + std::chrono::seconds{2});
}

TEST_F(VerdictBookTest, KeepsTheIdWhenAnEarlierLineComesLate) {
  settle({make("gpu.gsp_timeout", gpu, {"e-2"})});
  settle({make("gpu.gsp_timeout", gpu, {"e-1", "e-2"})});
  ASSERT_EQ(sent_.all.size(), 2U);
  EXPECT_EQ(sent_.all[0].id, sent_.all[1].id);
}

TEST_F(VerdictBookTest, ClearsWhatNoLongerHolds) {
  settle({make("gpu.gsp_timeout", gpu, {"e-1"})});
  settle({});
  ASSERT_EQ(sent_.all.size(), 2U);
  EXPECT_EQ(sent_.all[1].status, VerdictStatus::cleared);
  EXPECT_EQ(sent_.all[1].id, sent_.all[0].id);
  settle({});
  EXPECT_EQ(sent_.all.size(), 2U);
}

TEST_F(VerdictBookTest, DoesNotClearABrokenNodeForAnotherReasonThatItIsBroken) {
  settle({make("switch.nvswitch_fatal", Subject::of_node("n1"), {"e-2"})});
  settle({make("gpu.fell_off_bus", gpu, {"e-1", "e-2"})});
  ASSERT_EQ(sent_.all.size(), 2U);
  EXPECT_EQ(sent_.all[1].cause, "gpu.fell_off_bus");
}

TEST_F(VerdictBookTest, ClearsABrokenNodeForAReasonThatLeavesItAlone) {
  settle({make("gpu.ecc_uncorrectable", gpu, {"e-1"})});
  settle({make("gpu.ecc_contained", gpu, {"e-1", "e-2"})});
  ASSERT_EQ(sent_.all.size(), 3U);
  EXPECT_EQ(sent_.all[2].status, VerdictStatus::cleared);
}

TEST_F(VerdictBookTest, ForgettingSaysNothing) {
  settle({make("gpu.gsp_timeout", gpu, {"e-1"})});
  book_.forget("n1");
  settle({});
  EXPECT_EQ(sent_.all.size(), 1U);
}

TEST_F(VerdictBookTest, OldEvidenceDoesNotLookFresh) {
  Verdict old = make("gpu.gsp_timeout", gpu, {"e-1"});
  old.updated_at = start - std::chrono::hours{2};
  settle({old});
  EXPECT_EQ(sent_.all[0].updated_at, start - std::chrono::hours{2});
}

TEST_F(VerdictBookTest, OnsetIsNeverInTheFuture) {
  Verdict early = make("gpu.gsp_timeout", gpu, {"e-1"});
  early.since = start + std::chrono::hours{2};
  settle({early});
  EXPECT_EQ(sent_.all[0].since, start);
}

}  // namespace
}  // namespace faultline
