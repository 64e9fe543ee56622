#include "diagnose/training_watch.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "detect/failure_case.h"

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Catalog& shipped() {
  static const Catalog catalog = std::move(Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR).value());
  return catalog;
}

const Instant words_said_at = *parse_instant("2026-11-29T10:00:10Z");

/// Tells of every line "broken" some lines later.
class Words final : public FileDecoder {
 public:
  explicit Words(std::size_t lines_later) : lines_later_(lines_later) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t /*offset*/) override {
    std::vector<Event> events;
    for (const char c : bytes) {
      text_ += c;
      if (c != '\n') continue;
      lines_.push_back(begin_);
      begin_ = text_.size();
      if (lines_.size() <= lines_later_) continue;
      const std::size_t at = lines_[lines_.size() - 1 - lines_later_];
      if (text_.compare(at, 6, "broken") == 0) events.push_back(words_at(at));
    }
    return events;
  }
  std::vector<Event> finish() override { return {}; }

 private:
  static Event words_at(std::size_t offset) {
    Event event;
    event.kind = EventKind::log_signature;
    event.signature = "cuda.ecc";
    event.raw.offset = offset;
    event.id = "words" + std::to_string(offset);
    event.observed_at = words_said_at;
    return event;
  }
  std::size_t lines_later_;
  std::string text_;
  std::vector<std::size_t> lines_;
  std::size_t begin_ = 0;
};

/// "words AT went on at STEP", for each.
std::vector<std::string> signs_of_life(const std::string& log, std::size_t chunk_bytes,
                                       std::size_t lines_later = 0) {
  TrainingWatch watch(std::make_unique<Words>(lines_later), {}, shipped(),
                      words_said_at + std::chrono::hours{24});
  std::vector<std::string> signs;
  for (std::size_t at = 0; at < log.size(); at += chunk_bytes) {
    for (const Event& event : watch.feed(std::string_view(log).substr(at, chunk_bytes), at)) {
      const std::string step(event.field(went_on_field));
      if (!step.empty())
        signs.push_back(std::string(event.field(went_on_after_field)) + " " + step);
    }
  }
  return signs;
}

std::string steps(int from, int to, const std::string& time = "") {
  std::string lines;
  for (int step = from; step <= to; ++step)
    lines += time + "step " + std::to_string(step) + " loss 1\n";
  return lines;
}

std::string chatter(std::size_t bytes) {
  std::string lines;
  while (lines.size() < bytes) lines += "saving, and no number that counts anything\n";
  return lines;
}

TEST(TrainingWatch, WhereAReadEndsChangesNothing) {
  const std::string before = steps(1, 100) + chatter(30'000);
  const std::string log =
      before + "broken\n" + chatter(9'000) + steps(101, 110, "2026-11-29 10:01:00 ");
  const std::string sign = "words" + std::to_string(before.size()) + " 103";
  for (const std::size_t chunk : {1UL, 7UL, 4096UL, 31'000UL, 1UL << 20U}) {
    for (const std::size_t later : {0UL, 2UL, 220UL})  // so late that steps have gone by
      EXPECT_THAT(signs_of_life(log, chunk, later), ElementsAre(sign)) << chunk << " " << later;
  }
}

TEST(TrainingWatch, WordsWithoutAStepBeforeThemAreNotWatched) {
  const std::string behind = "broken\n" + chatter(140'000) + steps(1, 400);
  EXPECT_THAT(signs_of_life(behind, 1UL << 20U), IsEmpty());
  EXPECT_THAT(signs_of_life(steps(1, 1) + chatter(70'000) + behind, 4096), IsEmpty()) << "too far";
}

TEST(TrainingWatch, StepsThatAProcessHeldBackAreNoSignOfLife) {
  const std::string log = steps(1, 100) + "broken\n";
  const std::string all = steps(101, 12'000);
  const std::string flushed = all.substr(0, all.rfind('\n', std::size_t{136} << 10U) + 1);
  EXPECT_THAT(signs_of_life(log + flushed, 4096), IsEmpty());
  EXPECT_THAT(signs_of_life(log + flushed + flushed, 4096), IsEmpty()) << "two ranks in one log";
  EXPECT_EQ(signs_of_life(log + all, 4096).size(), 1U);
}

/// "OFFSET SECONDS", by what is told at the log's end; "" if nothing is.
std::string last_step(const std::string& log, std::size_t chunk_bytes) {
  TrainingWatch watch(std::make_unique<Words>(0), {}, shipped(),
                      words_said_at + std::chrono::hours{24});
  for (std::size_t at = 0; at < log.size(); at += chunk_bytes)
    watch.feed(std::string_view(log).substr(at, chunk_bytes), at);
  std::string told;
  for (const Event& event : watch.finish())
    told += std::to_string(event.raw.offset) + " " + std::string(event.field(last_step_field));
  return told;
}

TEST(TrainingWatch, TheLastStepIsToldAtTheEnd) {
  const std::string before = steps(1, 100, "2026-11-29 10:00:10 ") + chatter(1000);
  const std::string told = std::to_string(before.size()) + " 1795946520000000";
  const std::string last = "2026-11-29 10:02:00 step 101 loss 1";
  for (const std::size_t chunk : {1UL, 7UL, 4096UL, 31'000UL, 1UL << 20U}) {
    EXPECT_EQ(last_step(before + last, chunk), told) << chunk << ": a line without an end";
    EXPECT_EQ(last_step(before + last + "\n" + chatter(100'000), chunk), told) << chunk;
    EXPECT_EQ(last_step(before + last + "\n" + chatter(140'000), chunk), "")
        << chunk << ": too far";
  }
}

TEST(TrainingWatch, ALastStepWithoutATimeTellsNothing) {
  EXPECT_EQ(last_step(steps(1, 9, "2026-11-29 10:00:10 ") + steps(10, 11), 4096), "");
  EXPECT_EQ(last_step(chatter(100), 4096), "");
  EXPECT_EQ(last_step("2026-11-29 10:00:10 oom_kill event in StepId=9.batch", 4096), "");
}

}  // namespace
}  // namespace faultline
