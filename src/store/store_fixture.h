// A store in a folder of its own, and one noun of each kind to put into it. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "store/store.h"

namespace faultline {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '-');  // of a test with parameters
    folder_ = std::filesystem::temp_directory_path() /
              ("faultline-store-" + std::to_string(::getpid()) + "-" + name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "faultline.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Store> open() {
    auto store = Store::open(file_, Access::read_write);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }

  static Event event(int number) {
    Event event;
    event.source = EventSource::kernel_log;
    event.reporter = "n3";
    event.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    event.attempt = AttemptId{"7_2", 1};
    event.observed_at = Instant{std::chrono::seconds{1000 + number}};
    event.received_at = Instant{std::chrono::seconds{2000 + number}};
    event.signature = "xid.48";
    event.fields = {{"xid", "48"}, {"odd", "a\"b\\c\n\xC3\xA9"}};
    event.raw = {"/dev/kmsg", static_cast<std::uint64_t>(number), "boot-1", "NVRM: Xid ..."};
    event.id = make_event_id(event);
    return event;
  }
  static Verdict verdict(const std::string& id, VerdictStatus status) {
    Verdict verdict;
    verdict.id = id;
    verdict.detector = "node_fault";
    verdict.cause = "gpu.ecc_uncorrectable";
    verdict.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    verdict.status = status;
    verdict.confidence = 0.95;
    verdict.updated_at = Instant{std::chrono::seconds{3000}};
    verdict.evidence = {event(1).id};
    verdict.witnesses = {EventSource::kernel_log};
    return verdict;
  }
  static Attempt attempt(const std::string& job, AttemptState state) {
    Attempt attempt;
    attempt.id = {job, 0};
    attempt.state = state;
    attempt.started_at = Instant{std::chrono::seconds{1000}};
    return attempt;
  }
  static Action action(const std::string& id) {
    Action action;
    action.id = id;
    action.decision = "d-1";
    action.kind = ActionKind::requeue_excluding;
    action.subject = Subject::of_job("7_2");
    action.attempt = AttemptId{"7_2", 1};
    action.nodes = {"n3"};
    action.keep = {"n1", "n2"};
    action.dry_run = false;
    return action;
  }
  static Outcome outcome(const std::string& id, OutcomeStatus status, bool retryable = false) {
    return {id,       status, Instant{std::chrono::seconds{5000}}, "seen", {"scontrol update"},
            retryable};
  }

  std::filesystem::path folder_, file_;
};

}  // namespace faultline
