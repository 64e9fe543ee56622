#include "apps/signatures_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace faultline {
namespace {

namespace fs = std::filesystem;

class SignaturesTest : public testing::Test {
 protected:
  SignaturesTest() {
    std::string pattern = (fs::temp_directory_path() / "signatures-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    EXPECT_TRUE(catalog.ok());
    catalog_ = std::move(catalog).value();
  }
  ~SignaturesTest() override { fs::remove_all(folder_); }
  void prepare(const fs::path& cache, const std::vector<std::string>& child) {
    EXPECT_TRUE(prepare_signatures(catalog_, cache, child, counters_, stop_).ok());
  }

  fs::path folder_;
  Catalog catalog_;
  Counters counters_;
  std::atomic<bool> stop_ = false;
};

TEST_F(SignaturesTest, WhatTheChildCompiledIsOnlyLoaded) {
  const fs::path made = folder_ / "made";
  ASSERT_EQ(signatures_main({FAULTLINE_SOURCE_CATALOG_DIR, made.string()}), 0);
  const fs::path cache = folder_ / "cache";
  prepare(cache, {"/bin/cp", "-a", made.string(), cache.string()});
  EXPECT_EQ(counters_.get("signature_compiles_total"), 0U);
  EXPECT_EQ(counters_.get("signature_cache_hits_total"), 2U);
  EXPECT_EQ(counters_.get("signature_child_failures_total"), 0U);
  prepare(cache, {"/bin/false"});
  EXPECT_EQ(counters_.get("signature_child_failures_total"), 0U) << "nothing was left to do";
}

TEST_F(SignaturesTest, WithoutAChildTheAgentCompilesItself) {
  int failures = 0;
  for (const std::vector<std::string>& child :
       {std::vector<std::string>{"/bin/false"}, {(folder_ / "no-such-program").string()}}) {
    prepare(folder_ / std::to_string(failures), child);
    EXPECT_EQ(counters_.get("signature_child_failures_total"), ++failures);
    EXPECT_EQ(counters_.get("signature_compiles_total"), 2U * failures);
  }
  prepare(folder_ / "0", {"/bin/false"});
  EXPECT_EQ(counters_.get("signature_child_failures_total"), failures) << "the cache was written";
}

TEST_F(SignaturesTest, AskedToStopItWaitsForNoChildAndCompilesNothing) {
  stop_ = true;
  prepare(folder_ / "cache", {"/bin/sleep", "3600"});
  EXPECT_EQ(counters_.get("signature_compiles_total"), 0U);
  EXPECT_EQ(counters_.get("signature_child_failures_total"), 0U);
}

TEST_F(SignaturesTest, ACacheThatCannotBeWrittenIsSaidAndDoneWithout) {
  const std::string no_folder = "/proc/no-cache";
  EXPECT_NE(signatures_main({FAULTLINE_SOURCE_CATALOG_DIR, no_folder}), 0);
  prepare(no_folder, {"/bin/false"});
  EXPECT_EQ(counters_.get("signature_compiles_total"), 2U);
  EXPECT_EQ(counters_.get("signature_cache_write_failures_total"), 2U);
}

TEST_F(SignaturesTest, TheChildIsToldAbsolutePaths) {
  const auto command = signatures_command("catalog", "cache");
  ASSERT_EQ(command.size(), 6U);
  EXPECT_EQ(command[3], (fs::current_path() / "catalog").string());
  EXPECT_EQ(command[5], (fs::current_path() / "cache").string());
}

}  // namespace
}  // namespace faultline
