// Whatever the filter holds back makes no event: job logs of every line that a signature is known
// to fire on, with and without it.

#include "ingest/line_filter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/rng.h"
#include "ingest/log_decoder.h"
#include "ingest/signature_engine.h"
#include "tests/cases/detect_story.h"

namespace faultline {
namespace {

constexpr Instant now{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

std::vector<std::string> known_lines() {
  std::vector<std::string> lines;
  const auto folder = std::filesystem::path(FAULTLINE_SOURCE_DIR) / "tests/cases/signatures";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path());
    std::string line;
    while (std::getline(stream, line)) {
      for (const std::string_view word : {"fires ", "quiet "}) {
        if (line.starts_with(word)) lines.push_back(line.substr(word.size()));
      }
    }
  }
  return lines;
}

/// As job logs have them: behind prefixes, coloured, redrawn, with junk between.
std::string dressed(const std::string& line, Rng& rng) {
  switch (rng.below(8)) {
    case 0: return "[rank3]: " + line + "\n";
    case 1: return "2026-03-01T00:00:00.000001Z n3 rank3 | " + line + "\n";
    case 2:
      return "\x1b[31m" + line.substr(0, 9) + "\x1b[0m" +
             line.substr(std::min<std::size_t>(9, line.size())) + "\n";
    case 3: return "  7%|#    | 12/500\r  8%|#    | 13/500\r" + line + "\r\n";
    case 4: return std::string("a\0b", 3) + "\n" + line + "\n";
    case 5: return "iteration 100/ 5000 | loss 2.31 | grad norm 0.7\n\n\n" + line + "\n";
    case 6: return "n3: " + line + "\n" + std::string(rng.below(30000), 'x') + "\n";
    default: return line + "\n";
  }
}

std::vector<Event> decode(const std::string& log, LineChoice choice, std::size_t chunk) {
  Origin origin;
  origin.source = EventSource::job_log;
  origin.path = "job.log";
  Counters counters;
  // Without limits: how many lines lie between two equal ones is the one thing that a filter
  // changes.
  constexpr DecoderLimits no_limits{Duration{0}, 0, 1U << 30U, 1U << 30U};
  LogDecoder decoder(ShippedSignatures::get().database(EventSource::job_log), origin, counters,
                     no_limits, choice);
  std::vector<Event> events;
  for (std::size_t at = 0; at < log.size(); at += chunk) {
    for (Event& event : decoder.feed(std::string_view(log).substr(at, chunk), at, now))
      events.push_back(std::move(event));
  }
  for (Event& event : decoder.finish(now)) events.push_back(std::move(event));
  std::erase_if(events, [](const Event& event) { return event.kind == EventKind::source_gap; });
  return events;
}

std::string text_of(const std::vector<Event>& events, std::size_t i) {
  if (i >= events.size()) return "nothing";
  return events[i].signature + " " + events[i].subject.text() + ": " + events[i].raw.text;
}

std::string first_difference(const std::vector<Event>& filtered, const std::vector<Event>& all) {
  for (std::size_t i = 0; i < std::max(filtered.size(), all.size()); ++i) {
    if (i >= filtered.size() || i >= all.size() || filtered[i] != all[i])
      return text_of(filtered, i) + "\ninstead of\n" + text_of(all, i);
  }
  return {};
}

TEST(LineFilter, HoldsNothingBackThatMakesAnEvent) {
  const std::vector<std::string> lines = known_lines();
  ASSERT_GT(lines.size(), 300U);
  Rng rng(20261130);
  for (int round = 0; round < 4; ++round) {
    std::string log;
    for (const std::string& line : lines) log += dressed(line, rng);
    const std::vector<Event> all = decode(log, LineChoice::all, log.size());
    ASSERT_GT(all.size(), 200U);
    EXPECT_EQ(first_difference(decode(log, LineChoice::may_hit, log.size()), all), "");
    EXPECT_EQ(first_difference(decode(log, LineChoice::may_hit, 1 + rng.below(5000)), all), "");
  }
}

TEST(LineFilter, LetsNothingOfAHealthyLogThrough) {
  std::string log;
  for (int step = 0; step < 1000; ++step)
    log += "[rank 0] step " + std::to_string(step) + " loss 2.1 grad_norm 0.62 ms 72.1\n";
  std::vector<LineSpan> spans;
  ASSERT_TRUE(find_lines_that_may_hit(*ShippedSignatures::get().database(EventSource::job_log), log,
                                      spans));
  EXPECT_LT(spans.size(), 10U);
}

/// The hits of lines that stand in one block.
std::vector<std::string> hits_of(EventSource source, const std::vector<std::string>& lines) {
  Counters counters;
  SignatureEngine engine(ShippedSignatures::get().database(source), counters);
  LineBlock block;
  for (const std::string& line : lines) block.add(line, 0, 0);
  std::vector<std::string> hits(lines.size());
  for (const Hit& hit : engine.scan(block)) hits[hit.line] = hit.signature->id;
  return hits;
}

/// Vectorscan lost a pattern that begins with a bracket wherever a line of some length stood
/// before, once another pattern began with one.
TEST(LineFilter, NothingIsMissedBehindALongLine) {
  for (const EventSource source : {EventSource::kernel_log, EventSource::job_log}) {
    for (const std::string& line : known_lines()) {
      const std::string alone = hits_of(source, {line}).front();
      for (const char c : {'x', '=', ' '}) {
        for (const std::size_t length : {80UL, 300UL, 5000UL})
          EXPECT_EQ(hits_of(source, {std::string(length, c), line}).back(), alone) << line;
      }
    }
  }
}

TEST(LineFilter, NothingIsMissedForWhatStandsBefore) {
  std::vector<std::string> lines = known_lines();
  Rng rng(20261130);
  for (const EventSource source : {EventSource::kernel_log, EventSource::job_log}) {
    std::map<std::string, std::string> alone;
    for (const std::string& line : lines) alone[line] = hits_of(source, {line}).front();
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[rng.below(i)]);
      const auto together = hits_of(source, lines);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(together[i], alone[lines[i]]) << lines[i] << "\nafter\n"
                                                << (i == 0 ? "" : lines[i - 1]);
      }
    }
  }
}

TEST(LineFilter, TakesAnchorsOutOfPatternsAndNothingElse) {
  EXPECT_EQ(without_anchors("^srun: error$"), "srun: error");
  EXPECT_EQ(without_anchors(R"(\^a[^b^]\$[$])"), R"(\^a[^b^]\$[$])");
  EXPECT_EQ(without_anchors("a|^b"), "a|b");
  EXPECT_EQ(without_anchors("[]^]x^"), "[]^]x");
}

}  // namespace
}  // namespace faultline
