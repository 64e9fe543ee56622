// Runs tests/cases/policy/*.case: one story each of a verdict, the cluster and the history around
// it, and what policy must decide, in order. Unsaid: the verdict is a minute old, the scheduler was
// heard a second ago, limits are the shipped ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/policy.h"

namespace faultline {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

const Instant now{std::chrono::hours{24 * 365 * 56}};

struct PolicyStory {
  std::string name;
  int line = 0;
  Verdict verdict;
  ClusterView view;
  ActionHistory history;
  Mode mode = Mode::observe;
  NodeTests tests;
  std::vector<OpenFault> same_cause;
  std::vector<std::string> expected;
  std::string bad;  // a line that could not be read
};

Words words_of(std::string_view text) {
  Words words;
  for (const auto word : split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

/// "n1-n12" or "n1 n2".
Words node_range(const Words& words) {
  if (words.size() != 1 || words[0].find('-') == std::string::npos) return words;
  const auto dash = words[0].find('-');
  const auto first = parse_number<int>(words[0].substr(1, dash - 1)).value_or(0);
  const auto last = parse_number<int>(words[0].substr(dash + 2)).value_or(-1);
  Words nodes;
  for (int i = first; i <= last; ++i) nodes.push_back("n" + std::to_string(i));
  return nodes;
}

Duration seconds_of(std::string_view text) {  // "-20s", "300s"
  if (text.starts_with('-')) text.remove_prefix(1);
  return seconds{parse_number<int>(text.substr(0, text.size() - 1)).value_or(0)};
}

/// The words from `from` up to the next keyword.
Words until(const Words& words, std::size_t from,
            std::initializer_list<std::string_view> keywords) {
  Words part;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (std::find(keywords.begin(), keywords.end(), words[i]) != keywords.end()) break;
    part.push_back(words[i]);
  }
  return part;
}

std::size_t after(const Words& words, std::string_view keyword) {
  const auto found = std::find(words.begin(), words.end(), keyword);
  return static_cast<std::size_t>(found - words.begin()) + (found == words.end() ? 0 : 1);
}

/// CAUSE SUBJECT STATUS by SOURCE... [from NODE...] [attempt JOB#N] [at-once]
bool read_verdict(const Words& words, PolicyStory& story) {
  if (words.size() < 5 || words[3] != "by") return false;
  auto& verdict = story.verdict;
  verdict.detector = "story";
  verdict.cause = words[0];
  const auto subject = Subject::parse(words[1]);
  const auto status = parse_enum<VerdictStatus>(words[2]);
  if (!subject || !status) return false;
  verdict.subject = *subject;
  verdict.status = *status;
  verdict.confidence = 0.9;
  verdict.since = now - seconds{60};
  verdict.updated_at = now - seconds{10};
  verdict.evidence = {"e-0000000000000001"};
  for (const auto& word : until(words, 4, {"from", "attempt", "at-once"})) {
    const auto source = parse_enum<EventSource>(word);
    if (!source) return false;
    verdict.witnesses.push_back(*source);
  }
  verdict.reporters = until(words, after(words, "from"), {"attempt", "at-once"});
  if (const auto at = after(words, "attempt"); at < words.size())
    verdict.attempt = AttemptId::parse(words[at]);
  verdict.id = make_verdict_id(verdict);
  return true;
}

/// JOB#N STATE on NODE... [norequeue] [excluding NODE...]; "-" for a job that has no node. "7_1" is
/// a task of the array 7, and "7" of the same case what waits of it.
bool read_job(const Words& words, PolicyStory& story) {
  Attempt attempt;
  const auto id = words.size() < 4 ? std::nullopt : AttemptId::parse(words[0]);
  const auto state = words.size() < 4 ? std::nullopt : parse_enum<AttemptState>(words[1]);
  if (!id || !state || words[2] != "on") return false;
  attempt.id = *id;
  attempt.state = *state;
  attempt.nodes = until(words, 3, {"norequeue", "excluding"});
  if (words[3] == "-") attempt.nodes.clear();
  attempt.restartable = std::find(words.begin(), words.end(), "norequeue") == words.end();
  if (const auto at = after(words, "excluding"); at < words.size())
    attempt.excluded_nodes = until(words, at, {"norequeue"});
  const auto underscore = attempt.id.job.find('_');
  if (underscore != std::string::npos) attempt.array_job = attempt.id.job.substr(0, underscore);
  if (words[3] == "-") attempt.array_job = attempt.id.job;
  story.view.attempts.push_back(attempt);
  return true;
}

/// -SECONDS KIND SUBJECT CAUSE done|failed|unknown|open [attempt JOB#N]
bool read_history(const Words& words, PolicyStory& story) {
  if (words.size() < 5) return false;
  ActionHistory::Entry entry;
  const auto kind = parse_enum<ActionKind>(words[1]);
  const auto subject = Subject::parse(words[2]);
  if (!kind || !subject) return false;
  entry.action.kind = *kind;
  entry.action.subject = *subject;
  entry.action.id = "a-" + std::to_string(story.history.entries.size());
  entry.decided_at = now - seconds_of(words[0]);
  entry.cause = words[3];
  if (const auto status = parse_enum<OutcomeStatus>(words[4])) {
    entry.outcome = Outcome{entry.action.id, *status, entry.decided_at, "", {}, false};
  }
  if (const auto at = after(words, "attempt"); at < words.size())
    entry.action.attempt = AttemptId::parse(words[at]);
  story.history.entries.push_back(entry);
  return true;
}

/// NODE by this verdict | NODE by OWNER: REASON | NODE by faultline:ID CAUSE
bool read_drained(const Words& words, std::string_view text, PolicyStory& story) {
  if (words.size() < 3 || words[1] != "by" || !story.view.nodes.contains(words[0])) return false;
  auto& node = story.view.nodes[words[0]];
  node.drained = true;
  node.available = false;
  const auto reason = std::string(trim(text.substr(text.find(" by ") + 4)));
  if (reason == "this verdict") {
    const auto drain =
        make_decision_id(story.verdict.id, ActionKind::drain_node, Subject::of_node(words[0]));
    node.drain_reason = "faultline:" + make_action_id(drain) + " " + story.verdict.cause;
  } else if (reason_is_ours(reason)) {
    node.drain_reason = reason;
  } else {
    node.drain_owner = reason.substr(0, reason.find(':'));
    node.drain_reason = trim(std::string_view(reason).substr(reason.find(':') + 1));
  }
  return true;
}

/// configured [after-drain] [return-passed]
bool read_site_test(const Words& words, PolicyStory& story) {
  const auto says = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  story.tests = {says("configured"), says("after-drain"), says("return-passed")};
  return story.tests.configured;
}

bool read_line(std::string_view keyword, std::string_view rest, PolicyStory& story) {
  const Words words = words_of(rest);
  if (keyword == "verdict") return read_verdict(words, story);
  if (keyword == "job") return read_job(words, story);
  if (keyword == "history") return read_history(words, story);
  if (keyword == "drained") return read_drained(words, rest, story);
  if (keyword == "expect") return story.expected.emplace_back(join(words, " ")), true;
  if (keyword == "mode") {
    const auto mode = parse_enum<Mode>(trim(rest));
    story.mode = mode.value_or(Mode::observe);
    return mode.has_value();
  }
  if (keyword == "view") return story.view.taken_at = now - seconds_of(words.at(0)), true;
  if (keyword == "silence" && words.size() == 4) {
    const auto subject = Subject::parse(words[0]);
    if (subject) {
      story.history.silences.push_back(
          {"s-1", *subject, now, now + seconds_of(words[1]), words[3], "a golden case"});
    }
    return subject.has_value();
  }
  if (keyword == "site-test") return read_site_test(words, story);
  if (keyword == "same-cause") {
    for (const auto& name : node_range(words))
      story.same_cause.push_back({story.verdict.since, name});
    return true;
  }
  if (keyword == "rack") {
    for (std::size_t i = 1; i < words.size(); ++i) story.view.nodes[words[i]].rack = words[0];
    return true;
  }
  for (const auto& name : node_range(words)) {
    auto& node = story.view.nodes[name];
    node.name = name;
    if (keyword == "nodes") node.available = true;
    if (keyword == "idle") node.idle = true;
    if (keyword == "down") node.available = !(node.down = true);
    if (keyword == "maintenance") node.available = !(node.maintenance = true);
  }
  return keyword == "nodes" || keyword == "idle" || keyword == "down" || keyword == "maintenance";
}

std::vector<PolicyStory> read_stories(const std::filesystem::path& file) {
  std::vector<PolicyStory> stories;
  std::ifstream stream(file);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const auto text = trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    const auto space = std::min(text.find(' '), text.size());
    const auto keyword = text.substr(0, space);
    if (keyword == "case") {
      stories.emplace_back();
      stories.back().name = file.stem().string() + "/" + std::string(trim(text.substr(space)));
      stories.back().line = number;
      stories.back().view.taken_at = now - seconds{1};
      continue;
    }
    if (stories.empty() || !read_line(keyword, text.substr(space), stories.back())) {
      if (stories.empty()) stories.emplace_back();
      stories.back().bad = file.string() + ":" + std::to_string(number) + ": " + line;
    }
  }
  return stories;
}

std::vector<PolicyStory> all_stories() {
  std::vector<PolicyStory> stories;
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(FAULTLINE_SOURCE_DIR "/tests/cases/policy")) {
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    auto more = read_stories(file);
    stories.insert(stories.end(), more.begin(), more.end());
  }
  return stories;
}

std::string told(const Decision& decision) {
  std::string text = std::string(to_text(decision.action.kind)) + " " +
                     decision.action.subject.text() + " " + std::string(to_text(decision.ruling)) +
                     " " + std::string(to_text(decision.reason));
  if (!decision.action.nodes.empty()) text += " excluding " + join(decision.action.nodes, " ");
  return text;
}

TEST(PolicyCases, DecideAsTold) {
  const auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  const auto stories = all_stories();
  EXPECT_GE(stories.size(), 30U);
  for (const auto& story : stories) {
    SCOPED_TRACE(story.name);
    ASSERT_EQ(story.bad, "");
    ASSERT_NE(catalog->cause(story.verdict.cause), nullptr) << story.verdict.cause;
    const auto decisions =
        decide({story.verdict, story.view, story.history, *catalog, catalog->policy().limits,
                story.mode, now, story.tests, story.same_cause});
    std::vector<std::string> actual;
    std::string details;
    for (const auto& decision : decisions) {
      actual.push_back(told(decision));
      details += decision.guard + ": " + decision.detail + "\n";
    }
    EXPECT_EQ(join(actual, "\n"), join(story.expected, "\n")) << details;
  }
}

}  // namespace
}  // namespace faultline
