// The desk over a real store: what is decided and done is written down as the controller does.
#include "controller/notice_desk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "controller/forwarding_store.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant now{hours{500000}};

class NoticeDeskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("faultline-notices-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    store_ = std::move(Store::open(folder_ / "faultline.db", Access::read_write)).value();
    catalog_ = std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR)).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Verdict conclude(const VerdictId& id, std::optional<AttemptId> attempt = {}) {
    Verdict verdict;
    verdict.id = id;
    verdict.cause = "gpu.fell_off_bus";
    verdict.subject = Subject::of_gpu("n3", "0000:41:00");
    verdict.status = VerdictStatus::confirmed;
    verdict.attempt = std::move(attempt);
    verdict.since = verdict.updated_at = now;
    verdict.evidence = {"e-1"};
    EXPECT_TRUE(store_->put_verdict(verdict).ok());
    book_.add(verdict, now);
    return verdict;
  }
  Decision decide(const VerdictId& verdict, ActionKind kind, const Subject& subject,
                  Ruling ruling = Ruling::act) {
    Decision decision;
    decision.id = make_decision_id(verdict, kind, subject);
    decision.verdict = verdict;
    decision.action.kind = kind;
    decision.action.subject = subject;
    decision.action.decision = decision.id;
    decision.action.id = make_action_id(decision.id);
    decision.action.dry_run = ruling != Ruling::act;
    decision.ruling = ruling;
    decision.decided_at = now;
    if (kind == ActionKind::requeue_excluding) decision.action.nodes = {"n3"};
    EXPECT_TRUE(store_->put_decision(decision).ok());
    desk_->look_at(book_.of(verdict)->id, now);
    return decision;
  }
  Decision drain(const VerdictId& verdict) {
    return decide(verdict, ActionKind::drain_node, Subject::of_node("n3"));
  }
  Decision requeue(const VerdictId& verdict) {
    return decide(verdict, ActionKind::requeue_excluding, Subject::of_job("7"));
  }
  void came(const Decision& decision, OutcomeStatus status, bool retryable = false) {
    const bool begun = store_->action(decision.action.id)->has_value();
    EXPECT_TRUE(begun || store_->record_intent(decision.action, now).ok());
    EXPECT_TRUE(store_->record_outcome({decision.action.id, status, now, "", {}, retryable}).ok());
    desk_->look_at(book_.of(decision.verdict)->id, now);
  }
  std::vector<std::string> titles(Instant at = now) {
    std::vector<std::string> titles;
    const auto due = desk_->due(book_, at);
    EXPECT_TRUE(due.trouble.ok());
    for (const auto& notice : due.notices) {
      titles.push_back(notice.title);
      if (!arrives_) continue;
      EXPECT_TRUE(store_->put_incident(*book_.told(notice.incident)).ok());
    }
    return titles;
  }
  using Titles = std::vector<std::string>;

  fs::path folder_;
  Catalog catalog_;
  std::unique_ptr<Store> store_;
  IncidentBook book_;
  bool arrives_ = true;  // what is told
  std::unique_ptr<NoticeDesk> desk_;
};

class NoticeDeskOnFault : public NoticeDeskTest {
 protected:
  void SetUp() override {
    NoticeDeskTest::SetUp();
    desk_ = std::make_unique<NoticeDesk>(catalog_, *store_);
    conclude("v-1");
    lost_ = ": " + catalog_.cause("gpu.fell_off_bus")->summary;
  }
  std::string lost_;
};

TEST_F(NoticeDeskOnFault, OnePageWaitsForItsActs) {
  const auto drained = drain("v-1");
  const auto requeued = requeue("v-1");
  decide("v-1", ActionKind::notify, Subject::of_gpu("n3", "0000:41:00"));
  EXPECT_EQ(titles(), Titles{}) << "two acts are under way";
  came(drained, OutcomeStatus::done);
  EXPECT_EQ(titles(), Titles{});
  came(requeued, OutcomeStatus::done);
  EXPECT_EQ(titles(), Titles{"n3 drained" + lost_});
  desk_->look_at(book_.of("v-1")->id, now);
  EXPECT_EQ(titles(now + notice_wait), Titles{}) << "heard already";
}

TEST_F(NoticeDeskOnFault, APageDoesNotWaitForEver) {
  const auto drained = drain("v-1");
  requeue("v-1");
  came(drained, OutcomeStatus::done);
  EXPECT_EQ(titles(now + notice_wait - milliseconds{1}), Titles{});
  EXPECT_EQ(titles(now + notice_wait), Titles{"n3 drained" + lost_});
}

TEST_F(NoticeDeskOnFault, ALaterVerdictThatChangesNothingTellsNobody) {
  came(drain("v-1"), OutcomeStatus::done);
  EXPECT_EQ(titles().size(), 1U);
  conclude("v-2", AttemptId{"7", 0});
  decide("v-2", ActionKind::drain_node, Subject::of_node("n3"), Ruling::hold);
  decide("v-2", ActionKind::notify, Subject::of_gpu("n3", "0000:41:00"));
  EXPECT_EQ(titles(), Titles{});
  came(requeue("v-2"), OutcomeStatus::done);
  EXPECT_EQ(titles(), Titles{"job 7 requeued without n3" + lost_}) << "this is new";
}

TEST_F(NoticeDeskOnFault, WithoutAnActTheFaultItselfIsTold) {
  decide("v-1", ActionKind::notify, Subject::of_gpu("n3", "0000:41:00"));
  EXPECT_EQ(titles(), Titles{"n3" + lost_});
}

TEST_F(NoticeDeskTest, OfAJobThatNobodyNamesTheNodeIsSaid) {
  desk_ = std::make_unique<NoticeDesk>(catalog_, *store_);
  Event event;
  event.source = EventSource::kernel_log;
  event.reporter = "n4";
  event.subject = Subject::of_job("unknown");
  event.observed_at = event.received_at = now;
  event.id = make_event_id(event);
  ASSERT_TRUE(store_->append_events({event}).ok());
  Verdict verdict = conclude("v-1");
  verdict.subject = event.subject;
  verdict.evidence = {event.id};
  ASSERT_TRUE(store_->put_verdict(verdict).ok());
  decide("v-1", ActionKind::notify, event.subject);
  EXPECT_EQ(titles(), Titles{"job unknown on n4: " + catalog_.cause(verdict.cause)->summary});
}

TEST_F(NoticeDeskOnFault, WhatIsHeldIsToldOnceItIsNot) {
  const auto told = [&](Ruling ruling, Reason reason) {
    Decision decision = decide("v-1", ActionKind::notify, Subject::of_gpu("n3", "0000:41:00"));
    decision.ruling = ruling;
    decision.reason = reason;
    EXPECT_TRUE(store_->put_decision(decision).ok());
    return titles(now + notice_wait);
  };
  decide("v-1", ActionKind::drain_node, Subject::of_node("n3"), Ruling::hold);
  for (const Reason reason : {Reason::silenced, Reason::not_confirmed, Reason::evidence_incomplete})
    EXPECT_EQ(told(Ruling::hold, reason), Titles{});
  EXPECT_EQ(told(Ruling::deny, Reason::denied_by_person), Titles{});
  EXPECT_EQ(told(Ruling::act, Reason::all_guards_passed), Titles{"n3" + lost_});
}

TEST_F(NoticeDeskOnFault, InModeObserveTheFaultIsTold) {
  Decision decision = decide("v-1", ActionKind::notify, Subject::of_gpu("n3", "0000:41:00"));
  decision.ruling = Ruling::hold;
  decision.reason = Reason::mode_observe;
  EXPECT_TRUE(store_->put_decision(decision).ok());
  EXPECT_EQ(titles(), Titles{"n3" + lost_});
}

TEST_F(NoticeDeskOnFault, AnActThatFailedAndIsDoneInTheEndIsNews) {
  const auto drained = drain("v-1");
  came(drained, OutcomeStatus::failed, true);
  EXPECT_EQ(titles(), Titles{"n3 not drained" + lost_});
  came(drained, OutcomeStatus::failed, true);
  EXPECT_EQ(titles(), Titles{}) << "it fails on";
  came(drained, OutcomeStatus::done);
  EXPECT_EQ(titles(), Titles{"n3 drained" + lost_});
}

TEST_F(NoticeDeskOnFault, ATestIsNotWaitedForAndItsResultIsNews) {
  came(drain("v-1"), OutcomeStatus::done);
  const auto test = decide("v-1", ActionKind::test_node, Subject::of_node("n3"));
  EXPECT_EQ(titles(), Titles{"n3 drained" + lost_});
  came(test, OutcomeStatus::failed);
  EXPECT_EQ(titles(), Titles{"n3 failed its test" + lost_});
}

TEST_F(NoticeDeskOnFault, AQuestionWaitsForItsCommands) {
  const auto asked = decide("v-1", ActionKind::drain_node, Subject::of_node("n3"), Ruling::ask);
  EXPECT_EQ(titles(), Titles{});
  const Outcome shown{asked.action.id, OutcomeStatus::done, now, "", {"scontrol update"}, false};
  ASSERT_TRUE(put_dry_run(*store_, asked.id, shown).ok());
  desk_->look_at(book_.of("v-1")->id, now);
  EXPECT_EQ(titles(), Titles{"n3 to be drained once approved" + lost_});
}

TEST_F(NoticeDeskOnFault, WhatWasTakenBackBeforeItBeganIsNotWaitedFor) {
  drain("v-1");
  Verdict back = *store_->verdict("v-1").value();
  back.status = VerdictStatus::cleared;
  ASSERT_TRUE(store_->put_verdict(back).ok());
  book_.add(back, now);
  EXPECT_EQ(titles(), Titles{"n3" + lost_});
}

class UnreadableVerdict final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::optional<Verdict>> verdict(const VerdictId& id) override {
    if (id == "v-2" && broken) return Error{ErrorCode::unavailable, "disk I/O error"};
    return store_.verdict(id);
  }
  bool broken = true;
};

TEST_F(NoticeDeskOnFault, WhatTheStoreCannotSayIsAnErrorBesideWhatItCanAndIsToldLater) {
  UnreadableVerdict store(*store_);
  desk_ = std::make_unique<NoticeDesk>(catalog_, store);
  Verdict other = conclude("v-2");
  other.subject.node = "n5";
  other.evidence = {"e-2"};
  book_ = {};
  book_.add(*store_->verdict("v-1").value(), now);
  book_.add(other, now);
  for (const VerdictId id : {"v-1", "v-2"}) decide(id, ActionKind::notify, other.subject);
  const auto due = desk_->due(book_, now);
  EXPECT_EQ(due.notices.size(), 1U);
  EXPECT_FALSE(due.trouble.ok());
  store.broken = false;
  EXPECT_EQ(titles(now + notice_wait).size(), 1U);
}

TEST_F(NoticeDeskOnFault, TheNextLifeTellsWhatWasNotTold) {
  const auto drained = drain("v-1");
  came(drained, OutcomeStatus::done);
  const auto next_life = [&](const Incident incident) {
    book_ = {};
    book_.restore(incident, std::vector{*store_->verdict("v-1").value()});
    desk_ = std::make_unique<NoticeDesk>(catalog_, *store_);
    desk_->look_at(incident.id, now);
    return titles();
  };
  arrives_ = false;
  EXPECT_EQ(titles(), Titles{"n3 drained" + lost_});
  desk_->look_at(book_.of("v-1")->id, now);
  EXPECT_EQ(titles(), Titles{}) << "not twice in one life";
  arrives_ = true;
  EXPECT_EQ(next_life(*book_.of("v-1")), Titles{"n3 drained" + lost_});
  const auto stored = store_->incidents({});
  ASSERT_TRUE(stored && stored->size() == 1);
  EXPECT_EQ(next_life(stored->front()), Titles{}) << "it is written down";
}

}  // namespace
}  // namespace faultline
