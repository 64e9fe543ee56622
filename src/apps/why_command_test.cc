// `faultline why` finds what it is asked for by id, by name, and by subject as the tables show it.
#include "apps/why_command.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/output.h"
#include "model/json.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Why : public testing::Test {
 protected:
  Why() {
    std::string pattern = (fs::temp_directory_path() / "why-command-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    store_ = std::move(Store::open(folder_ / "faultline.db", Access::read_write)).value();
    put("v-gpu", Subject::of_gpu("n3", "0000:3b:00.0"), AttemptId{"7", 1});
    put("v-node", Subject::of_node("n3"), {});
    put("v-other", Subject::of_node("n33"), AttemptId{"77", 0});
    put("v-storage", Subject::of_storage("nfs1"), {});
    put("v-idle", Subject::of_node("n5"), {});
    put_requeue("v-idle", {"12", 1});
    SchedulerNode healthy;
    healthy.name = "n6";
    healthy.state_text = "idle";
    const auto nodes = nlohmann::json::array({to_json(healthy)});
    EXPECT_TRUE(store_->put_value("scheduler.nodes", dump(nodes)).ok());
  }
  ~Why() override { fs::remove_all(folder_); }

  void put(const std::string& id, const Subject& subject, std::optional<AttemptId> attempt) {
    Verdict verdict;
    verdict.id = id;
    verdict.cause = "gpu.ecc";
    verdict.subject = subject;
    verdict.attempt = std::move(attempt);
    verdict.detector = "kernel_faults";
    verdict.since = Instant{std::chrono::seconds{1'790'000'000}};
    verdict.evidence = {"e-" + id};
    ASSERT_TRUE(store_->put_verdict(verdict).ok());
  }

  /// A job is asked to be put back because of what was concluded of its node.
  void put_requeue(const std::string& verdict, const AttemptId& attempt) {
    Decision decision;
    decision.id = "d-requeue";
    decision.verdict = verdict;
    decision.ruling = Ruling::ask;
    decision.action.id = "a-requeue";
    decision.action.kind = ActionKind::requeue_excluding;
    decision.action.subject = Subject::of_job(attempt.job);
    decision.action.attempt = attempt;
    ASSERT_TRUE(store_->put_decision(decision).ok());
    const std::vector<std::string> commands = {"scontrol requeuehold " + attempt.job};
    ASSERT_TRUE(put_dry_run(*store_, decision.id,
                            {"a-requeue", OutcomeStatus::done, {}, "dry run", commands, false})
                    .ok());
  }

  [[nodiscard]] QueryOptions options_for(const std::string& id, bool as_json) const {
    QueryOptions options;
    options.store = (folder_ / "faultline.db").string();
    options.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    options.json = as_json;
    options.id = id;
    return options;
  }
  [[nodiscard]] std::string shown(const std::string& id, bool as_json = false) const {
    testing::internal::CaptureStdout();
    EXPECT_EQ(why_main(options_for(id, as_json)), exit_ok);
    return testing::internal::GetCapturedStdout();
  }

  /// The verdicts that `faultline why ID` shows.
  [[nodiscard]] std::vector<std::string> why(const std::string& id) const {
    testing::internal::CaptureStdout();
    const int code = why_main(options_for(id, true));
    const std::string out = testing::internal::GetCapturedStdout();
    std::vector<std::string> ids;
    EXPECT_EQ(code, out.empty() ? exit_not_found : exit_ok);
    if (out.empty()) return ids;
    const auto shown = nlohmann::json::parse(out);
    for (const auto& item : shown["why"]) ids.push_back(item["verdict"]["id"]);
    return ids;
  }

  fs::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(Why, ANodeIsFoundByItsNameAndAsASubject) {
  EXPECT_THAT(why("n3"), UnorderedElementsAre("v-gpu", "v-node"));
  EXPECT_EQ(why("node:n3"), why("n3"));
  EXPECT_THAT(why("node:n4"), IsEmpty());
}

TEST_F(Why, AGpuIsOneGpu) {
  EXPECT_THAT(why("gpu:n3/0000:3b:00.0"), ElementsAre("v-gpu"));
  EXPECT_THAT(why("gpu:n3/00000000:3B:00.0"), ElementsAre("v-gpu"));
  EXPECT_THAT(why("gpu:n3/0000:3c:00.0"), IsEmpty());
}

TEST_F(Why, AJobAndItsAttemptAreFound) {
  EXPECT_THAT(why("7"), ElementsAre("v-gpu"));
  EXPECT_THAT(why("job:7"), ElementsAre("v-gpu"));
  EXPECT_THAT(why("attempt:7#1"), ElementsAre("v-gpu"));
  EXPECT_THAT(why("attempt:7#0"), IsEmpty());
}

TEST_F(Why, AnActOnAJobIsFoundByTheJob) {
  for (const char* id : {"12", "job:12", "12#1", "attempt:12#1"}) {
    EXPECT_THAT(why(id), ElementsAre("v-idle")) << id;
  }
  EXPECT_THAT(why("12#0"), IsEmpty());
  EXPECT_THAT(why("1"), IsEmpty());
}

TEST_F(Why, WhatAsksIsShownWithItsCommands) {
  EXPECT_THAT(shown("12"), HasSubstr("dry run\n           $ scontrol requeuehold 12\n"));
  const auto shown_json = nlohmann::json::parse(shown("12", true));
  EXPECT_THAT(shown_json["why"][0]["decisions"][0]["dry_run"]["commands"],
              ElementsAre("scontrol requeuehold 12"));
}

TEST_F(Why, TheListOfActsShowsTheCommandsToo) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(query_main("actions", options_for("", false)), exit_ok);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("; $ scontrol requeuehold 12\n"));
  testing::internal::CaptureStdout();
  EXPECT_EQ(query_main("actions", options_for("", true)), exit_ok);
  const auto actions = nlohmann::json::parse(testing::internal::GetCapturedStdout())["actions"];
  EXPECT_THAT(actions[0]["dry_run"]["commands"], ElementsAre("scontrol requeuehold 12"));
  EXPECT_TRUE(actions[0]["outcome"].is_null()) << "nothing was done";
}

TEST_F(Why, OfAHealthyNodeItSaysThatNothingIsWrong) {
  EXPECT_EQ(shown("n6"),
            "n6 is known to the scheduler (idle); nothing was concluded about it and nothing "
            "done\n");
  EXPECT_EQ(shown("node:n6"), shown("n6"));
  EXPECT_TRUE(nlohmann::json::parse(shown("n6", true))["why"].empty());
}

TEST_F(Why, OtherSubjectsAndIdsAreFound) {
  EXPECT_THAT(why("storage:nfs1"), ElementsAre("v-storage"));
  EXPECT_THAT(why("cluster"), IsEmpty());
  EXPECT_THAT(why("e-v-other"), ElementsAre("v-other"));
  EXPECT_THAT(why("v-other"), ElementsAre("v-other"));
}

TEST_F(Why, WhatIsNoNameIsWrongUsage) {
  QueryOptions options;
  options.store = (folder_ / "faultline.db").string();
  for (const char* wrong :
       {"", "a b", "../n3", "n3;reboot", "pigeon:n3", "rank:7#1/x", "\x1b[2J"}) {
    options.id = wrong;
    testing::internal::CaptureStderr();
    EXPECT_EQ(why_main(options), exit_usage) << wrong;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("for instance")) << wrong;
  }
}

}  // namespace
}  // namespace faultline
