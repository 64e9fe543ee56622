// `faultline why` finds what it is asked for by id, by name, and by subject as the tables show it.
#include "apps/why_command.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/output.h"

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

  /// The verdicts that `faultline why ID` shows.
  [[nodiscard]] std::vector<std::string> why(const std::string& id) const {
    QueryOptions options;
    options.store = (folder_ / "faultline.db").string();
    options.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    options.json = true;
    options.id = id;
    testing::internal::CaptureStdout();
    const int code = why_main(options);
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
