// Requests come from files that anybody who can write there may have made.
#include "adapters/local/local_request.h"

#include <gmock/gmock.h>

namespace faultline {
namespace {

using testing::ElementsAre;

LocalRequest good_submit() {
  LocalRequest request;
  request.job = "12";
  request.by = "ann";
  request.node_count = 2;
  request.argv = {"./train.sh", "[a,b]", ""};
  request.environment = {"A=1", "EMPTY="};
  request.directory = "/tmp";
  return request;
}

TEST(LocalRequest, ReadsWhatItWrites) {
  auto request = good_submit();
  request.array = {{1, 2, 3}, 1};
  const auto back = parse_request(request_text(request));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(request_text(*back), request_text(request));
  EXPECT_THAT(back->argv, ElementsAre("./train.sh", "[a,b]", ""));
}

TEST(LocalRequest, RefusesHostileJobs) {
  const auto refused = [](auto change) {
    auto request = good_submit();
    change(request);
    const auto parsed = parse_request(request_text(request));
    return !parsed;
  };
  EXPECT_TRUE(refused([](auto& r) { r.job = "../../etc/cron.d/x"; }));
  EXPECT_TRUE(refused([](auto& r) { r.job = "007"; }));
  EXPECT_TRUE(refused([](auto& r) { r.job = "0"; }));
  EXPECT_TRUE(refused([](auto& r) { r.job = "12_1"; }));
  EXPECT_TRUE(refused([](auto& r) { r.node_count = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.argv = {}; }));
  EXPECT_TRUE(refused([](auto& r) { r.argv = {std::string("a\0b", 3)}; }));
  EXPECT_TRUE(refused([](auto& r) { r.argv.push_back(std::string(argv_bytes_max, 'x')); }));
  EXPECT_TRUE(refused([](auto& r) { r.environment = {"NOVALUE"}; }));
  EXPECT_TRUE(refused([](auto& r) { r.environment = {"=x"}; }));
  EXPECT_TRUE(refused([](auto& r) { r.environment.assign(60, "A=" + std::string(10'000, 'x')); }));
  EXPECT_TRUE(refused([](auto& r) { r.directory = "relative"; }));
  EXPECT_TRUE(refused([](auto& r) { r.name = "a\nb"; }));
  EXPECT_TRUE(refused([](auto& r) { r.by = std::string(500, 'x'); }));
  EXPECT_TRUE(refused([](auto& r) { r.array.tasks = {1, 1}; }));
  EXPECT_FALSE(refused([](auto&) {}));
}

TEST(LocalRequest, RefusesJunk) {
  for (const char* text :
       {"", "{", "[]", "null", R"({"kind":"submit"})", R"({"kind":"format","by":"x"})",
        R"({"kind":"cancel","by":"x","job":7})", R"({"kind":"cancel","by":"x","job":"a/b"})",
        R"({"kind":"resume","by":"x","node":"-n1"})",
        R"({"kind":"drain","by":"x","node":"n1","reason":""})",
        R"({"kind":"drain","by":"x","node":"n1","reason":"faultline:a-1 gpu"})"}) {
    EXPECT_FALSE(parse_request(text)) << text;
  }
}

TEST(LocalRequest, ReadsArrays) {
  EXPECT_THAT(parse_array("1-3%1")->tasks, ElementsAre(1, 2, 3));
  EXPECT_EQ(parse_array("1-3%1")->limit, 1U);
  EXPECT_THAT(parse_array("1,4,7-8")->tasks, ElementsAre(1, 4, 7, 8));
  EXPECT_EQ(parse_array("5")->limit, 0U);
  EXPECT_EQ(parse_array("0-999")->tasks.size(), 1000U);
  for (const char* bad :
       {"", "a", "3-1", "1-", "-1", "1%", "1%0", "1,,2", "0-1000", "1-4294967295", "1-3%x"}) {
    EXPECT_FALSE(parse_array(bad)) << bad;
  }
}

TEST(LocalRequest, WhatJsonCannotCarryIsRefused) {
  EXPECT_TRUE(
      survives_json("Gr\xc3\xbc\xc3\x9f"
                    "e"));
  EXPECT_FALSE(survives_json("\xff"));
  auto request = good_submit();
  request.argv = {"\xff"};
  EXPECT_FALSE(leave_request(StateFolder("/nonexistent"), request, Instant{}));
}

}  // namespace
}  // namespace faultline
