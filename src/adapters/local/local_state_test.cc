// cluster.json as a bad disk or a curious person leaves it: refused with what is wrong, or read and
// harmless. The sanitizers watch.
#include "adapters/local/local_state.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/local/local_rules.h"
#include "adapters/local/state_folder.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const Instant now = Instant{std::chrono::seconds{1'790'000'000}};

/// Something of everything that the file can hold.
LocalState full_state() {
  LocalState state;
  state.nodes = {{"n1", false, true, "new cable", "ann"}, {"n2", true, false, "", ""}};
  for (const char* job : {"7", "8_2"}) {
    LocalTask task;
    task.job = job;
    if (task.job == "8_2") task.array_job = "8";
    task.user = "ann";
    task.excluded = {"n1"};
    task.requeue_acts = {"a-1"};
    task.submitted_at = now;
    LocalAttempt attempt;
    attempt.state = AttemptState::running;
    attempt.started_at = now;
    attempt.nodes = {"n2"};
    attempt.exit_code = 1;
    attempt.keeper = ProcessId{42, 99, "boot"};
    task.attempts = {attempt};
    state.tasks.push_back(task);
  }
  return state;
}

/// What the verbs and a controller do with a state before they start or stop anything.
void use(LocalState state) {
  for (auto& task : state.tasks) {
    EXPECT_FALSE(to_text(task.submitted_at).empty());
    for (const auto& attempt : task.attempts)
      EXPECT_FALSE((to_text(attempt.started_at) + to_text(now - attempt.ended_at)).empty());
    waiting_reason(state, task);
    finish_attempt(task, {1, now, ""});
  }
  EXPECT_GT(state.highest_job() + 1, state.highest_job());
  start_what_fits(state, now);
  forget_old(state);
  make_view(state, now);
  EXPECT_FALSE(state_text(state).empty());
}

/// The pointers to everything below `value`.
void pointers(const json& value, const json::json_pointer& here,
              std::vector<json::json_pointer>& out) {
  out.push_back(here);
  if (value.is_object()) {
    for (const auto& [key, below] : value.items()) pointers(below, here / key, out);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) pointers(value[i], here / i, out);
  }
}

TEST(LocalStateDamage, AnyValueAnywhereIsRefusedOrHarmless) {
  const json whole = json::parse(state_text(full_state()));
  std::vector<json::json_pointer> places;
  pointers(whole, json::json_pointer(), places);
  const std::vector<json> values = {nullptr,
                                    true,
                                    -1,
                                    0,
                                    1.5,
                                    1e308,
                                    INT64_MIN,
                                    INT64_MAX,
                                    UINT64_MAX,
                                    "",
                                    "../x",
                                    "18446744073709551615",
                                    json::array(),
                                    json::object(),
                                    json::array({"../x"})};
  std::size_t refused = 0;
  for (const auto& place : places) {
    for (const auto& value : values) {
      json damaged = whole;
      damaged[place] = value;
      auto state = parse_state(damaged.dump());
      if (state) {
        use(std::move(state).value());
      } else {
        ++refused;
        EXPECT_EQ(state.error().code, ErrorCode::corrupt) << damaged.dump();
      }
    }
  }
  EXPECT_GT(refused, places.size() * values.size() / 2);
}

TEST(LocalStateDamage, TimesAndNumbersThatCannotBeAreNamed) {
  const auto damaged = [](const char* place, const json& value) {
    json whole = json::parse(state_text(full_state()));
    whole[json::json_pointer(place)] = value;
    const auto state = parse_state(whole.dump());
    return state ? std::string() : state.error().message;
  };
  for (const json& time : {json(INT64_MIN), json(-1), json(INT64_MAX)}) {
    for (const char* place : {"/tasks/0/submitted_ns", "/tasks/0/attempts/0/started_ns",
                              "/tasks/0/attempts/0/ended_ns", "/tasks/0/attempts/0/stop_asked_ns"})
      EXPECT_EQ(damaged(place, time), "job 7 at an impossible time") << place;
  }
  EXPECT_THAT(damaged("/tasks/0/job", "18446744073709551615"), HasSubstr("bad job id"));
  EXPECT_THAT(damaged("/tasks/1/array_job", "x"), HasSubstr("bad job id"));
  EXPECT_EQ(damaged("/tasks/0/job", "9"), "");
}

TEST(LocalStateDamage, WhatIsCutOrNestedIsRefusedAndLeftAsItIs) {
  std::string pattern = (fs::temp_directory_path() / "local-state-XXXXXX").string();
  const fs::path root = ::mkdtemp(pattern.data());
  const StateFolder folder(root);
  ASSERT_TRUE(folder.create({{"n1", false, false, "", ""}}));
  const std::string whole = state_text(full_state());
  std::vector<std::string> texts = {std::string(100, '\0'), "\xff\xfe", "null", "[1]"};
  for (std::size_t cut = 0; cut + 2 < whole.size(); ++cut) {
    EXPECT_FALSE(parse_state(whole.substr(0, cut))) << cut;
    if (cut % 97 == 0) texts.push_back(whole.substr(0, cut));
  }
  for (const char* opening : {"[", "{\"nodes\":", "{\"format\":1,\"nodes\":["}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += opening;
    texts.push_back(deep);
  }
  texts.push_back("{\"format\":1,\"tasks\":[],\"nodes\":" + std::string(100'000, '[') +
                  std::string(100'000, ']') + "}");
  for (const auto& text : texts) {
    ASSERT_TRUE(write_small_file(folder.state_file(), text, false));
    const auto state = folder.load();
    ASSERT_FALSE(state) << text.substr(0, 80);
    EXPECT_EQ(state.error().code, ErrorCode::corrupt);
    EXPECT_THAT(state.error().message, HasSubstr("is damaged"));
    EXPECT_EQ(folder.create({{"n1", false, false, "", ""}}).error().code, ErrorCode::conflict);
    EXPECT_EQ(read_small_file(folder.state_file(), text.size()).value(), text);
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace faultline
