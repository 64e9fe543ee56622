#include "tests/cases/detect_story.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "base/check.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr Instant story_start{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

/// The first word of `rest`, which is cut off.
std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const auto end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest = rest.substr(std::min(end + 1, rest.size()));
  return word;
}

/// "+90s", "+2m", "+1h", "+300ms".
std::optional<Duration> parse_offset(std::string_view text) {
  if (!text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const auto unit = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::int64_t>(text.substr(0, unit));
  if (!number) return std::nullopt;
  const std::string_view word = text.substr(unit);
  if (word == "ms") return std::chrono::milliseconds{*number};
  if (word == "s") return std::chrono::seconds{*number};
  if (word == "m") return std::chrono::minutes{*number};
  if (word == "h") return std::chrono::hours{*number};
  return std::nullopt;
}

class Story {
 public:
  /// Runs one line; appends it, or what would be right in its place, to `actual`.
  void take(const std::string& line, std::string& actual, std::vector<std::string>& errors) {
    std::string_view rest = line;
    if (trim(line).empty() || line[0] == '#') {
      flush(actual);
      actual += line + "\n";
      return;
    }
    const std::string_view word = take_word(rest);
    if (word == "expect") return note_expectation(rest);
    flush(actual);
    actual += line + "\n";
    if (word == "at") {
      const auto offset = parse_offset(trim(rest));
      if (!offset) return errors.push_back("bad time: " + line), void();
      bench_.advance(story_start + *offset);
      after_at_ = true;
    } else if (word == "detectors") {
      for (const auto name : split(trim(rest), ',')) detectors_.insert(std::string(name));
    } else if (word == "catalog") {
      if (trim(rest) != "default") errors.push_back("only the default catalog is known: " + line);
    } else if (word == "attempt") {
      if (!start_attempt(rest)) errors.push_back("bad attempt: " + line);
    } else if (!take_event(word, rest)) {
      errors.push_back("bad line: " + line);
    }
  }

  /// Writes the expectations of the last `at`.
  void flush(std::string& actual) {
    if (!after_at_) return;
    after_at_ = false;
    std::vector<std::string> lines;
    for (const auto& [id, verdict] : bench_.verdicts()) {
      if (!detectors_.empty() && !detectors_.contains(verdict.detector)) continue;
      const bool cleared = verdict.status == VerdictStatus::cleared;
      if (!cleared) {
        lines.push_back(verdict_line(verdict));
      } else if (told_cleared_.insert(id).second) {
        lines.push_back("cleared " + verdict.cause + " " + verdict.subject.text());
      }
    }
    std::sort(lines.begin(), lines.end());
    if (lines.empty()) lines.push_back("none");
    for (const std::string& line : lines) actual += "expect " + line + "\n";
    for (const std::string& wanted : wanted_) {
      if (holds(wanted)) actual += "expect " + wanted + "\n";
    }
    wanted_.clear();
  }

 private:
  void note_expectation(std::string_view rest) {
    const std::string text(trim(rest));
    for (const std::string_view word : {"missing ", "says ", "witnesses ", "not "}) {
      if (text.starts_with(word)) wanted_.push_back(text);
    }
  }

  bool holds(std::string_view wanted) const {
    const std::string_view word = take_word(wanted);
    bool found = false;
    for (const auto& [id, verdict] : bench_.verdicts()) {
      if (!detectors_.empty() && !detectors_.contains(verdict.detector)) continue;
      if (verdict.status == VerdictStatus::cleared) continue;
      std::set<std::string_view> witnesses;
      for (const EventSource source : verdict.witnesses) witnesses.insert(to_text(source));
      const std::string missing = join(verdict.missing, "; ");
      if (word == "missing") found = found || missing.find(wanted) != std::string::npos;
      if (word == "says") found = found || verdict.explanation.find(wanted) != std::string::npos;
      if (word == "not")
        found = found || (verdict.explanation + missing).find(wanted) != std::string::npos;
      if (word == "witnesses") found = found || join(witnesses, ",") == wanted;
    }
    return word == "not" ? !found : found;
  }

  Event make(EventSource source, EventKind kind, Subject subject) const {
    Event event;
    event.source = source;
    event.kind = kind;
    event.subject = std::move(subject);
    event.observed_at = happened_;
    event.received_at = bench_.now();
    event.clock = ClockDomain::controller;
    return event;
  }

  void give(Event event) {
    event.raw.offset = event.raw.offset == 0 ? ++offset_ : event.raw.offset;
    event.id = make_event_id(event);
    for (int i = 0; i < copies_; ++i) bench_.observe(event);
  }

  bool start_attempt(std::string_view rest) {
    const auto id = AttemptId::parse(take_word(rest));
    if (!id) return false;
    happened_ = bench_.now();
    Event start =
        make(EventSource::scheduler, EventKind::attempt_started, Subject::of_attempt(*id));
    start.attempt = *id;
    std::string_view ranks;
    for (std::string_view key = take_word(rest); !key.empty(); key = take_word(rest)) {
      const std::string_view value = take_word(rest);
      if (key == "ranks") {
        ranks = value;
      } else if (key == "array") {
        start.fields["array_job"] = value;
      } else {
        start.fields[std::string(key)] = value;
      }
    }
    give(start);
    std::map<std::string, int> local;
    for (const auto entry : split(ranks, ',')) {
      const auto equals = entry.find('=');
      const auto rank = parse_number<std::int32_t>(entry.substr(0, equals));
      if (equals == std::string_view::npos || !rank) return ranks.empty();
      std::string_view place = entry.substr(equals + 1);  // NODE or NODE/PCI
      const auto slash = place.find('/');
      const std::string node(place.substr(0, slash));
      Event event =
          make(EventSource::launcher, EventKind::rank_started, Subject::of_rank(*id, *rank, node));
      event.attempt = *id;
      event.reporter = node;
      event.fields["local_rank"] = std::to_string(local[node]++);
      if (slash != std::string_view::npos) event.fields["gpus"] = place.substr(slash + 1);
      give(event);
    }
    return true;
  }

  /// "+3s", or "+1s>+4s" for what happened at one time and was received at another; "twice" after
  /// it sends it twice.
  bool take_event(std::string_view when, std::string_view rest) {
    const auto arrow = when.find('>');
    const auto happened = parse_offset(when.substr(0, arrow));
    const auto received =
        arrow == std::string_view::npos ? happened : parse_offset(when.substr(arrow + 1));
    if (!happened || !received) return false;
    happened_ = story_start + *happened;
    if (story_start + *received > bench_.now()) bench_.advance(story_start + *received);
    copies_ = trim(rest).starts_with("twice ") ? 2 : 1;
    if (copies_ == 2) take_word(rest);
    const bool good = take_kind(take_word(rest), rest);
    bench_.advance(bench_.now());
    return good;
  }

  bool take_kind(std::string_view kind, std::string_view rest) {
    if (kind == "kernel") {
      Origin origin;
      origin.source = EventSource::kernel_log;
      origin.node = take_word(rest);
      return take_log_line(origin, rest);
    }
    if (kind == "scheduler") {
      Origin origin;
      origin.source = EventSource::scheduler;
      return take_log_line(origin, rest);
    }
    if (kind == "job") return take_job_line(rest);
    if (kind == "end") return take_end(rest);
    if (kind == "exit") return take_exit(rest);
    if (kind == "stalled")
      return take_rank_event(EventKind::progress_stalled, EventSource::launcher, rest);
    if (kind == "resumed")
      return take_rank_event(EventKind::progress_resumed, EventSource::launcher, rest);
    if (kind == "node")
      return take_node_event(EventKind::node_seen, EventSource::scheduler, "state", rest);
    if (kind == "agent_lost")
      return take_node_event(EventKind::agent_lost, EventSource::controller, "", rest);
    if (kind == "agent_started")
      return take_node_event(EventKind::agent_started, EventSource::agent, "", rest);
    if (kind == "boot") return take_node_event(EventKind::node_boot, EventSource::agent, "", rest);
    if (kind == "test")
      return take_node_event(EventKind::test_finished, EventSource::agent, "exit_code", rest);
    if (kind == "return") return take_return(rest);
    if (kind == "sample") return take_sample(rest);
    return false;
  }

  bool take_log_line(const Origin& origin, std::string_view line) {
    const std::string key = std::string(to_text(origin.source)) + '|' + origin.node + '|' +
                            (origin.attempt ? origin.attempt->text() : "") + '|' +
                            std::to_string(origin.rank);
    auto decoder = decoders_.find(key);
    if (decoder == decoders_.end()) {
      const ShippedSignatures& shipped = ShippedSignatures::get();
      decoder =
          decoders_.try_emplace(key, shipped.database(origin.source), origin, counters_).first;
    }
    std::vector<Event> events =
        decoder->second.feed(std::string(line) + "\n", ++offset_ * 65536, happened_);
    for (Event& event : events) {
      event.observed_at = happened_;
      event.received_at = bench_.now();
      if (event.clock == ClockDomain::none) event.clock = ClockDomain::node_wall;
      give(std::move(event));
    }
    return true;
  }

  /// "7#0 rank 3 n3 LINE", "7#0 rank 3 - LINE" or "7#0 any LINE".
  bool take_job_line(std::string_view rest) {
    Origin origin;
    origin.source = EventSource::job_log;
    origin.attempt = AttemptId::parse(take_word(rest));
    const std::string_view who = take_word(rest);
    if (!origin.attempt || (who != "rank" && who != "any")) return false;
    if (who == "rank") {
      origin.rank = parse_number<std::int32_t>(take_word(rest)).value_or(-1);
      const std::string_view node = take_word(rest);
      if (node != "-") origin.node = node;
    }
    return take_log_line(origin, rest);
  }

  static void read_fields(std::string_view rest, Event& event) {
    for (std::string_view pair = take_word(rest); !pair.empty(); pair = take_word(rest)) {
      const auto equals = std::min(pair.find('='), pair.size() - 1);
      event.fields[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
    }
  }

  bool take_end(std::string_view rest) {
    const auto id = AttemptId::parse(take_word(rest));
    if (!id) return false;
    Event event = make(EventSource::scheduler, EventKind::attempt_ended, Subject::of_attempt(*id));
    event.attempt = *id;
    event.fields["state"] = take_word(rest);
    read_fields(rest, event);
    give(event);
    return true;
  }

  /// "7#0 3 n3 signal=9"
  bool take_rank_event(EventKind kind, EventSource source, std::string_view rest) {
    const auto id = AttemptId::parse(take_word(rest));
    const auto rank = parse_number<std::int32_t>(take_word(rest));
    if (!id || !rank) return false;
    const std::string node(take_word(rest));
    Event event = make(source, kind, Subject::of_rank(*id, *rank, node));
    event.attempt = *id;
    event.reporter = node;
    read_fields(rest, event);
    give(event);
    return true;
  }

  bool take_exit(std::string_view rest) {
    return take_rank_event(EventKind::rank_exited, EventSource::launcher, rest);
  }

  bool take_node_event(EventKind kind, EventSource source, std::string_view field,
                       std::string_view rest) {
    const std::string node(take_word(rest));
    Event event = make(source, kind, Subject::of_node(node));
    if (source == EventSource::agent) event.reporter = node;
    if (!field.empty()) event.fields[std::string(field)] = take_word(rest);
    read_fields(rest, event);
    give(event);
    return true;
  }

  bool take_return(std::string_view rest) {
    const std::string node(take_word(rest));
    Event event = make(EventSource::person, EventKind::person_request, Subject::of_node(node));
    event.fields = {{"request", "return"}, {"target", "node:" + node}, {"who", "operator"}};
    give(event);
    return true;
  }

  /// "n1 0000:3b:00.0 NAME=VALUE ..."
  bool take_sample(std::string_view rest) {
    const std::string node(take_word(rest));
    Event event =
        make(EventSource::nvml, EventKind::gpu_sample, Subject::of_gpu(node, take_word(rest)));
    event.reporter = node;
    read_fields(rest, event);
    give(event);
    return true;
  }

  DetectorBench bench_;
  Counters counters_;
  std::map<std::string, LogDecoder> decoders_;
  std::set<std::string> detectors_;
  std::set<VerdictId> told_cleared_;
  std::vector<std::string> wanted_;
  bool after_at_ = false;
  int copies_ = 1;
  std::uint64_t offset_ = 0;
  Instant happened_ = story_start;
};

}  // namespace

std::filesystem::path ShippedSignatures::cache_folder() {
  return testing::TempDir() + "faultline_test_signatures_" + std::to_string(::geteuid());
}

const ShippedSignatures& ShippedSignatures::get() {
  static const ShippedSignatures shipped = [] {
    auto catalog = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    FAULTLINE_CHECK(catalog.ok());
    return ShippedSignatures(std::move(catalog.value()));
  }();
  static const bool compiled = [] {
    auto& databases = const_cast<ShippedSignatures&>(shipped).databases_;
    Counters counters;
    for (const EventSource source :
         {EventSource::kernel_log, EventSource::job_log, EventSource::scheduler}) {
      auto database =
          SignatureDatabase::open(shipped.catalog_, layers_of(source), cache_folder(), counters);
      FAULTLINE_CHECK(database.ok());
      databases[source] = database.value();
    }
    return true;
  }();
  FAULTLINE_CHECK(compiled);
  return shipped;
}

std::shared_ptr<const SignatureDatabase> ShippedSignatures::database(EventSource source) const {
  return databases_.at(source);
}

DetectorBench::DetectorBench()
    : detectors_(ShippedSignatures::get().catalog()), now_(story_start) {}

void DetectorBench::verdict(const Verdict& verdict) {
  FAULTLINE_CHECK(verdict.id == make_verdict_id(verdict) || verdicts_.contains(verdict.id));
  ++sent_;
  verdicts_.insert_or_assign(verdict.id, verdict);
}

void DetectorBench::observe(const Event& event) { detectors_.observe(event); }

void DetectorBench::advance(Instant now) {
  now_ = now;
  detectors_.evaluate(now_, *this);
}

std::string verdict_line(const Verdict& verdict) {
  return "verdict " + verdict.cause + " " + verdict.subject.text() + " " +
         std::string(to_text(verdict.status)) + (verdict.acts_at_once ? " at_once" : "");
}

StoryResult tell_story(const std::filesystem::path& path) {
  StoryResult result;
  std::ifstream stream(path);
  Story story;
  std::string line;
  while (std::getline(stream, line)) {
    result.expected += line + "\n";
    story.take(line, result.actual, result.errors);
  }
  story.flush(result.actual);
  return result;
}

}  // namespace faultline
