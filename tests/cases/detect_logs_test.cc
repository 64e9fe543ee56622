// The sample logs through decoder and detectors: each must reach the class and the place that
// logs/INDEX.tsv gives, and none may lead to a drain that is not in there. Logs alone have no
// scheduler, so a job's log belongs to one attempt that fails at its end, and kernel and scheduler
// logs stand alone. Beside ours stands what those who knew the end of the story gave as class and
// place; where we differ, the row says why.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/cases/detect_story.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(FAULTLINE_SOURCE_DIR) / "tests/cases";
constexpr Instant log_end{std::chrono::sys_days{std::chrono::year{2026} / 3 / 2}};

struct LogRow {
  std::string file, source, nodes, cause_class, cause, subject, drain;
  std::string given_class, given_subject, reason;
};

std::vector<LogRow> read_index() {
  std::vector<LogRow> rows;
  std::ifstream stream(cases / "logs/INDEX.tsv");
  std::string line;
  std::getline(stream, line);  // heading
  while (std::getline(stream, line)) {
    const auto columns = split(line, '\t');
    if (columns.size() != 10) throw std::runtime_error("logs/INDEX.tsv needs 10 columns: " + line);
    rows.push_back({std::string(columns[0]), std::string(columns[1]), std::string(columns[2]),
                    std::string(columns[3]), std::string(columns[4]), std::string(columns[5]),
                    std::string(columns[6]), std::string(columns[7]), std::string(columns[8]),
                    std::string(columns[9])});
  }
  return rows;
}

Event attempt_event(EventKind kind, const AttemptId& attempt, Fields fields) {
  Event event;
  event.source = EventSource::scheduler;
  event.kind = kind;
  event.subject = Subject::of_attempt(attempt);
  event.attempt = attempt;
  event.observed_at = event.received_at = log_end;
  event.clock = ClockDomain::scheduler;
  event.fields = std::move(fields);
  event.id = make_event_id(event);
  return event;
}

/// Moves the log's own times to now: the last line was written just before it was read.
void bring_to_now(std::vector<Event>& events) {
  Instant last;
  for (const Event& event : events) last = std::max(last, event.observed_at);
  for (Event& event : events) {
    event.received_at = log_end;
    if (known(event.observed_at)) event.observed_at += log_end - last;
    event.id = make_event_id(event);
  }
}

std::vector<Event> decode(const LogRow& row, const AttemptId& attempt) {
  Origin origin;
  origin.source = *parse_enum<EventSource>(row.source);
  origin.path = row.file;
  const bool job = origin.source == EventSource::job_log;
  if (job) origin.attempt = attempt;
  if (!job && row.nodes != "-") origin.node = row.nodes;
  Counters counters;
  const ShippedSignatures& shipped = ShippedSignatures::get();
  LogDecoder decoder(shipped.database(origin.source), origin, counters);
  std::ifstream stream(cases / row.file, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  std::vector<Event> events = decoder.feed(bytes.str(), 0, log_end);
  for (Event& event : decoder.finish(log_end)) events.push_back(std::move(event));
  bring_to_now(events);
  return events;
}

class DetectLogs : public testing::TestWithParam<LogRow> {
 protected:
  void run(DetectorBench& bench) {
    const LogRow& row = GetParam();
    const AttemptId attempt{"77", 0};
    const bool job = row.source == "job_log";
    bench.advance(log_end);
    if (job) {
      Fields fields;
      if (row.nodes != "-") fields["nodes"] = row.nodes;
      bench.observe(attempt_event(EventKind::attempt_started, attempt, fields));
    }
    for (const Event& event : decode(row, attempt)) bench.observe(event);
    if (job)
      bench.observe(attempt_event(EventKind::attempt_ended, attempt,
                                  {{"state", "failed"}, {"exit_code", "1"}}));
    bench.advance(log_end);
    bench.advance(log_end + std::chrono::seconds{30});
  }
};

std::string story(const DetectorBench& bench) {
  std::string text;
  for (const auto& [id, verdict] : bench.verdicts()) {
    std::vector<std::string_view> witnesses;
    for (const EventSource source : verdict.witnesses) witnesses.push_back(to_text(source));
    text += "  " + verdict.detector + ": " + verdict_line(verdict) + " by " + join(witnesses, ",") +
            "\n    " + verdict.explanation + "\n    missing: " + join(verdict.missing, "; ") + "\n";
  }
  return text.empty() ? "  nothing\n" : text;
}

TEST_P(DetectLogs, ReachesClassAndPlace) {
  DetectorBench bench;
  run(bench);
  const LogRow& row = GetParam();
  RecordProperty("story", story(bench));
  if (std::getenv("SHOW_CASES") != nullptr)
    std::printf("%s\n%s", row.file.c_str(), story(bench).c_str());
  std::vector<std::string> found;
  for (const auto& [id, verdict] : bench.verdicts()) {
    if (verdict.status == VerdictStatus::cleared) continue;
    const Cause* cause = ShippedSignatures::get().catalog().cause(verdict.cause);
    ASSERT_NE(cause, nullptr) << verdict.cause;
    found.push_back(std::string(to_text(cause->cause_class)) + " " + verdict.cause + " " +
                    verdict.subject.text());
  }
  std::vector<std::string> expected;
  if (row.cause_class != "none")
    expected.push_back(row.cause_class + " " + row.cause + " " + row.subject);
  EXPECT_EQ(found, expected) << row.file << "\n" << story(bench);
}

TEST_P(DetectLogs, DrainsNothingThatItShouldNot) {
  DetectorBench bench;
  run(bench);
  bool drains = false;
  for (const auto& [id, verdict] : bench.verdicts()) {
    const Cause* cause = ShippedSignatures::get().catalog().cause(verdict.cause);
    const bool only_job = verdict.witnesses == std::vector<EventSource>{EventSource::job_log};
    drains =
        drains || (verdict.status == VerdictStatus::confirmed && concerns_node(cause->remedy) &&
                   concerns_node(verdict.subject) && !only_job);
  }
  EXPECT_EQ(drains ? "yes" : "no", GetParam().drain) << GetParam().file << "\n" << story(bench);
}

/// Whether one of the words in `given` ("user/config") can mean our class. People say whose fault
/// it was, we say what broke.
bool means(std::string_view given, const std::string& cause_class) {
  static const std::map<std::string_view, std::set<std::string>> meanings{
      {"hardware", {"gpu", "node", "link", "nic", "switch", "storage", "power_thermal"}},
      {"fabric", {"link", "switch"}},
      {"network", {"link", "nic", "switch"}},
      {"firmware", {"gpu", "nic", "switch"}},
      {"infra", {"environment", "storage"}},
      {"config", {"environment"}},
      {"user", {"software", "environment", "workload"}},
      {"software", {"software"}},
      {"unknown", {"unknown"}},
      {"benign", {"none"}}};
  for (const std::string_view word : split(given, '/')) {
    const auto it = meanings.find(word);
    EXPECT_NE(it, meanings.end()) << "no class is meant by '" << word << "'";
    if (it != meanings.end() && it->second.contains(cause_class)) return true;
  }
  return false;
}

TEST_P(DetectLogs, HasAReasonWhereItDiffersFromWhatWasGiven) {
  const LogRow& row = GetParam();
  const bool differs = !means(row.given_class, row.cause_class) || row.given_subject != row.subject;
  EXPECT_EQ(row.reason.empty(), !differs)
      << row.file << ": given " << row.given_class << ", " << row.given_subject << "; ours "
      << row.cause_class << ", " << row.subject
      << (differs ? "; say why in the last column" : "; they agree, so the reason is out of date");
}

INSTANTIATE_TEST_SUITE_P(Samples, DetectLogs, testing::ValuesIn(read_index()), [](const auto& row) {
  std::string name = fs::path(row.param.file).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace faultline
