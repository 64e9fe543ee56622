// Any byte of the database changed behind its back: whatever is asked then is answered or refused
// in words, and what was answered without a complaint before the damage is not worse than a
// refusal.
#include <functional>

#include "base/rng.h"
#include "base/small_file.h"
#include "store/store_fixture.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

class DamagedPagesTest : public StoreTest {
 protected:
  static void fill(Store& store) {
    std::vector<Event> events;
    for (int i = 0; i < 60; ++i) events.push_back(event(i));
    ASSERT_TRUE(store.append_events(events).ok());
    for (int i = 0; i < 20; ++i) {
      const std::string number = std::to_string(i);
      ASSERT_TRUE(store.put_verdict(verdict("v-" + number, VerdictStatus::confirmed)).ok());
      Decision decision;
      decision.id = "d-" + number;
      decision.verdict = "v-" + number;
      ASSERT_TRUE(store.put_decision(decision).ok());
      ASSERT_TRUE(store.record_intent(action("a-" + number), Instant{seconds{1}}).ok());
      ASSERT_TRUE(store.put_attempt(attempt("job-" + number, AttemptState::running)).ok());
      NodeState state;
      state.node = "n" + number;
      ASSERT_TRUE(store.put_node_state(state).ok());
      Incident incident;
      incident.id = "i-" + number;
      ASSERT_TRUE(store.put_incident(incident).ok());
      ASSERT_TRUE(
          store.put_request({0, RequestKind::return_node, "n3", "ann", Instant{seconds{2}}, {}})
              .ok());
      ASSERT_TRUE(store.put_value("value-" + number, "text").ok());
    }
  }

  static constexpr std::size_t writing_count = 4;
  /// What is asked of a store, and last what is written into it.
  std::vector<std::function<Status(Store&)>> questions() const {
    const auto said = [](const auto& result) { return result ? ok_status() : result.error(); };
    return {
        [said](Store& store) { return said(store.event(event(3).id)); },
        [said](Store& store) { return said(store.events({})); },
        [said](Store& store) {
          return said(store.events_of_attempt({"7_2", 1}, {}));
        },
        [said](Store& store) { return said(store.verdict("v-3")); },
        [said](Store& store) { return said(store.verdicts({})); },
        [said](Store& store) { return said(store.verdict_history("v-3")); },
        [said](Store& store) { return said(store.decision("d-3")); },
        [said](Store& store) { return said(store.decisions({})); },
        [said](Store& store) { return said(store.decisions_of_verdict("v-3")); },
        [said](Store& store) { return said(store.open_intents()); },
        [said](Store& store) { return said(store.action("a-3")); },
        [said](Store& store) { return said(store.actions({})); },
        [said](Store& store) { return said(store.attempts({})); },
        [said](Store& store) { return said(store.attempts_alive_since({}, 100)); },
        [said](Store& store) { return said(store.node_states()); },
        [said](Store& store) { return said(store.node_history("n3")); },
        [said](Store& store) { return said(store.incidents({})); },
        [said](Store& store) { return said(store.open_requests()); },
        [said](Store& store) { return said(store.requests({})); },
        [said](Store& store) { return said(store.request(3)); },
        [said](Store& store) { return said(store.value("value-3")); },
        [said](Store& store) { return said(store.append_events({event(100)})); },
        [](Store& store) { return store.put_verdict(verdict("v-3", VerdictStatus::cleared)); },
        [this](Store& store) { return store.backup(folder_ / "backup.db"); },
        [said](Store& store) {
          return said(store.retain(Instant{std::chrono::hours{100'000}}, Retention{}));
        },
    };
  }
};

TEST_F(DamagedPagesTest, NothingIsAskedInVain) {
  fill(*open());
  const std::string bytes = read_small_file(file_, 64 << 20).value();
  const fs::path copy = folder_ / "copy.db";
  Rng rng(5);
  int refused = 0;
  int failed = 0;
  for (int i = 0; i < 90; ++i) {
    std::string damaged = bytes;
    const std::size_t page = 4096 * rng.below(bytes.size() / 4096);
    // In the head of a page, where one byte decides much, as often as anywhere.
    const std::size_t at = page + rng.below(i % 2 == 0 ? 16 : 4096);
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + rng.below(255)));
    SCOPED_TRACE(at);
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy.string() + suffix);
    ASSERT_TRUE(write_small_file(copy, damaged, false).ok());
    const bool writes = i % 9 == 0;  // which waits for the disk
    const auto store = Store::open(copy, writes ? Access::read_write : Access::read_only);
    if (!store) {
      ++refused;
      EXPECT_NE(store.error().message.find(copy.string()), std::string::npos)
          << store.error().message;
      EXPECT_NE(store.error().code, ErrorCode::internal) << store.error().message;
      continue;
    }
    const auto asked = questions();
    const std::size_t count = asked.size() - (writes ? 0 : writing_count);
    for (std::size_t next = 0; next < count; ++next) {
      const Status answer = asked[next](**store);
      if (answer.ok()) continue;
      ++failed;
      EXPECT_EQ(answer.error().code, ErrorCode::corrupt) << answer.error().message;
      EXPECT_NE(answer.error().message.find(copy.string()), std::string::npos)
          << answer.error().message;
      EXPECT_NE(answer.error().message.find("faultline store backup"), std::string::npos)
          << answer.error().message;
    }
    fs::remove(folder_ / "backup.db");
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace faultline
