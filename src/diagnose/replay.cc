#include "diagnose/replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "detect/detectors.h"
#include "detect/event_window.h"
#include "detect/failure_case.h"
#include "detect/node_pattern.h"
#include "diagnose/clock_skew.h"
#include "diagnose/runs.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::string_view node_list_signature = "slurm.nodelist";
/// Longer than any detector waits for late evidence, shorter than what it forgets after.
constexpr Duration settle_time = std::chrono::seconds{30};

/// A line without a time happened after the one before it in its file; before the first that has
/// one, with it.
void fill_times(std::vector<Event>& events) {
  std::map<std::string, Instant> last;
  for (Event& event : events) {
    Instant& known_time = last[event.raw.path];
    if (known(event.observed_at)) {
      known_time = event.observed_at;
    } else {
      event.received_at = known_time;
    }
  }
  last.clear();
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    Instant& next = last[event->raw.path];
    if (known(event->observed_at)) next = event->observed_at;
    if (!known(event->observed_at) && !known(event->received_at)) event->received_at = next;
  }
}

Instant last_time(const std::vector<Event>& events, bool job_only) {
  Instant last;
  for (const Event& event : events) {
    const bool counts = !job_only || of_job(event);
    if (counts && known(event.observed_at)) last = std::max(last, event.observed_at);
  }
  return last;
}

/// When the scheduler says that the run was over.
Instant told_end(const std::vector<Event>& events) {
  Instant end;
  for (const Event& event : events) {
    if (event.kind == EventKind::attempt_ended) end = std::max(end, event.observed_at);
  }
  return end;
}

/// When a reading without a date was written is when its file was copied, if all else was before.
void drop_dates_of_copies(std::vector<Event>& events) {
  const auto undated = [](const Event& event) {
    return event.source == EventSource::nvml && event.clock == ClockDomain::none;
  };
  Instant last;
  for (const Event& event : events) {
    if (!undated(event)) last = std::max(last, event.observed_at);
  }
  if (!known(last)) return;
  for (Event& event : events) {
    if (undated(event) && event.observed_at > last) event.observed_at = {};
  }
}

/// Times for everything; what stays without one happened at the end of the job, whatever its nodes
/// say later.
Instant place_in_time(std::vector<Event>& events, Instant fallback) {
  drop_dates_of_copies(events);
  fill_times(events);
  Instant end = last_time(events, true);
  if (!known(end)) end = told_end(events);
  if (!known(end)) end = last_time(events, false);
  if (!known(end)) end = fallback;
  for (Event& event : events) {
    if (known(event.observed_at)) event.received_at = event.observed_at;
    if (!known(event.received_at)) {
      event.received_at = end;
      if (event.source == EventSource::kernel_log) event.fields.emplace(time_unknown_field, "1");
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.received_at < b.received_at; });
  return end;
}

/// The nodes of a run whose every rank says where it is. Other names, as containers give, say
/// nothing of the machines below.
std::set<std::string> nodes_of_all_ranks(const std::vector<Event>& events) {
  std::set<std::string> nodes;
  std::set<std::int32_t> ranks;
  std::size_t world = 0;
  for (const Event& event : events) {
    if (event.kind != EventKind::rank_started || event.subject.node.empty()) continue;
    ranks.insert(event.subject.rank);
    nodes.insert(event.subject.node);
    world = std::max(world, parse_number<std::size_t>(event.field("world")).value_or(0));
  }
  if (world == 0 || ranks.size() < world) nodes.clear();
  return nodes;
}

/// The same of a run that says itself that its program failed: the machines that its own lines
/// name.
std::set<std::string> nodes_of_program(const std::vector<Event>& events, const Catalog& catalog) {
  std::set<std::string> nodes;
  std::vector<JobLine> lines;
  for (const Event& event : events) {
    if (!of_job(event)) continue;
    const std::string_view host =
        event.subject.node.empty() ? event.field("host") : std::string_view(event.subject.node);
    if (!host.empty() && nodes.size() < run_nodes_max) nodes.emplace(host);
    if (auto line = unplaced_line(event, catalog)) lines.push_back(*std::move(line));
  }
  if (!failed_by_program(lines)) nodes.clear();
  return nodes;
}

/// A machine that is named as those of the run are, and is none of them.
bool is_stranger(std::string_view node, const std::set<std::string>& of_run) {
  const auto bare = [](std::string_view name) { return name.substr(0, name.find('.')); };
  bool alike = false;
  for (const std::string& other : of_run) {
    if (bare(other) == bare(node)) return false;
    alike = alike || name_pattern(other) == name_pattern(node);
  }
  return alike;
}

/// Where tasks ended together, as srun lists it.
std::vector<std::string> hosts_of(const Event& event) {
  const std::string_view hosts = event.field("hosts");
  if (hosts.empty()) return {};
  auto names = expand_hostlist(hosts, run_nodes_max);
  return names ? std::move(names).value() : std::vector<std::string>{};
}

std::string nodes_of(const std::vector<Event>& events, const Catalog& catalog) {
  std::set<std::string> of_run = nodes_of_all_ranks(events);
  if (of_run.empty()) of_run = nodes_of_program(events, catalog);
  std::set<std::string> nodes;
  const auto add = [&](std::string_view name) {
    if (valid_node_name(name) && name != "localhost" && nodes.size() < run_nodes_max)
      nodes.emplace(name);
  };
  for (const Event& event : events) {
    if (!of_job(event) && is_stranger(node_of(event), of_run)) continue;
    if (!event.subject.node.empty()) {
      add(event.subject.node);
    } else if (of_job(event)) {
      add(event.field("host"));
      for (const std::string& host : hosts_of(event)) add(host);
    }
    if (event.source == EventSource::kernel_log) add(event.reporter);
  }
  return join(nodes, ",");
}

/// Of each file where it says for the last time that the training was done.
std::map<std::string, std::uint64_t> last_successes(const std::vector<Event>& events) {
  std::map<std::string, std::uint64_t> last;
  for (const Event& event : events) {
    if (event.signature != finished_signature) continue;
    std::uint64_t& offset = last[event.raw.path];
    offset = std::max(offset, event.raw.offset);
  }
  return last;
}

/// The scheduler's own word of why a run ended, where nothing else is known of it: a pod that was
/// evicted.
bool told_of_run(const Event& event, const Signature* signature, const Catalog& catalog) {
  const bool of_named_run = event.source == EventSource::scheduler && event.attempt &&
                            event.attempt->job != Subject::of_unnamed_job().attempt.job;
  if (!of_named_run || signature == nullptr || signature->role != Role::root) return false;
  const Cause* cause = catalog.cause(signature->cause);
  return signature->strength == Strength::decisive && cause != nullptr && blames_no_node(*cause);
}

/// Says that something went wrong, whatever it is: a root, or what comes with the end of a job.
bool says_failure(const Event& event, const Catalog& catalog) {
  if (event.kind == EventKind::operation_pending) return true;
  if (event.kind == EventKind::rank_exited) return event.field("exit_code") != "0";
  if (event.kind != EventKind::log_signature) return false;
  const Signature* signature = catalog.signature(event.signature);
  if (!of_job(event) && !told_of_run(event, signature, catalog)) return false;
  return signature != nullptr && signature->role != Role::noise &&
         signature->use != SignatureUse::identity && signature->use != SignatureUse::clears;
}

Event attempt_event(EventKind kind, const AttemptId& attempt, Instant at, Fields fields) {
  Event event;
  event.source = EventSource::controller;
  event.kind = kind;
  event.subject = Subject::of_attempt(attempt);
  event.attempt = attempt;
  event.observed_at = event.received_at = at;
  event.clock = ClockDomain::controller;
  event.fields = std::move(fields);
  event.id = make_event_id(event);
  return event;
}

/// NCCL's counts are all there is, and the ranks of a group differ in them: they hang, or were
/// asked while they moved.
bool only_launches_differ(const std::vector<Event>& events) {
  std::map<std::string, std::set<std::string>> launched;  // by group
  for (const Event& event : events) {
    if (event.source != EventSource::collective_trace) return false;
    if (event.kind == EventKind::operation_completed && !event.field("counted").empty())
      launched[std::string(event.field("group"))].emplace(event.field("seq"));
  }
  return std::any_of(launched.begin(), launched.end(),
                     [](const auto& group) { return group.second.size() > 1; });
}

/// What a job got over is no failure: in the same file it says later that it was done.
bool tells_of_failure(const std::vector<Event>& events, const Catalog& catalog) {
  if (only_launches_differ(events)) return true;
  const auto successes = last_successes(events);
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    if (!says_failure(event, catalog)) return false;
    const auto success = successes.find(event.raw.path);
    return success == successes.end() || success->second < event.raw.offset;
  });
}

/// By the scheduler's word.
bool ended_badly(const std::vector<Event>& events, const AttemptId& attempt) {
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return event.kind == EventKind::attempt_ended && event.attempt == attempt &&
           event.field("state") != to_text(AttemptState::completed);
  });
}

bool tells(const std::vector<Event>& events, EventKind kind, const AttemptId& attempt) {
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return event.kind == kind && event.attempt == attempt;
  });
}

/// As Slurm told the job itself, if its log prints that and says one thing alone.
std::string nodes_told_by_slurm(const std::vector<Event>& events) {
  std::string_view told;
  for (const Event& event : events) {
    if (event.signature != node_list_signature || !of_job(event)) continue;
    if (!told.empty() && told != event.field("hosts")) return {};
    told = event.field("hosts");
  }
  return expand_hostlist(told, run_nodes_max) ? std::string(told) : std::string();
}

/// The attempt around a job's lines, where nobody tells of it.
void add_attempt(Replay& replay, const Catalog& catalog) {
  std::vector<Event>& events = replay.events;
  if (!replay.failed && std::none_of(events.begin(), events.end(), of_job)) return;
  if (!tells(events, EventKind::attempt_started, replay.attempt)) {
    std::string nodes = nodes_told_by_slurm(events);
    const bool all = !nodes.empty() || !nodes_of_all_ranks(events).empty();
    if (nodes.empty()) nodes = nodes_of(events, catalog);
    events.insert(
        events.begin(),
        attempt_event(
            EventKind::attempt_started, replay.attempt, events.front().received_at,
            {{"nodes", std::move(nodes)}, {std::string(nodes_heard_field), all ? "0" : "1"}}));
  }
  if (!replay.failed || tells(events, EventKind::attempt_ended, replay.attempt)) return;
  const auto after =
      std::upper_bound(events.begin(), events.end(), replay.ended_at,
                       [](Instant at, const Event& event) { return at < event.received_at; });
  events.insert(after, attempt_event(EventKind::attempt_ended, replay.attempt, replay.ended_at,
                                     {{"state", "failed"}}));
}

struct TimeSpan {
  Instant from, to;
};

/// When the run's failure is decided: from the first that fails until its case is closed.
TimeSpan decisive_span(const Replay& replay) {
  Instant from = replay.ended_at, to = replay.ended_at;
  for (const Event& event : replay.events) {
    const bool ends = event.kind == EventKind::attempt_ended ||
                      (event.kind == EventKind::rank_exited && event.field("exit_code") != "0");
    if (!ends) continue;
    from = std::min(from, event.received_at);
    to = std::max(to, event.received_at);
  }
  return {from, to + after_failure};
}

class Standing final : public VerdictSink {
 public:
  void verdict(const Verdict& verdict) override { verdicts_[verdict.id] = verdict; }
  [[nodiscard]] std::vector<Verdict> take() {
    std::vector<Verdict> standing;
    for (auto& [id, verdict] : verdicts_) {
      if (verdict.status != VerdictStatus::cleared) standing.push_back(std::move(verdict));
    }
    return standing;
  }

 private:
  std::map<VerdictId, Verdict> verdicts_;
};

}  // namespace

Replay replay_run(const Catalog& catalog, const AttemptId& attempt, std::vector<Event> events,
                  Instant fallback) {
  Replay replay;
  replay.attempt = attempt;
  replay.events = std::move(events);
  correct_clocks(replay.events, estimate_clock_skew(replay.events));
  replay.ended_at = place_in_time(replay.events, fallback);
  replay.failed = ended_badly(replay.events, attempt) || tells_of_failure(replay.events, catalog);
  add_attempt(replay, catalog);
  if (replay.events.empty()) return replay;
  Detectors detectors(catalog);
  Standing standing;
  const TimeSpan decisive = decisive_span(replay);
  Instant before;
  for (const Event& event : replay.events) {
    const bool over = before > decisive.to;
    if (over || event.received_at < decisive.from) {
      detectors.skim(event);
    } else {
      detectors.observe(event);
    }
    before = event.received_at;
  }
  detectors.evaluate(replay.events.back().received_at, standing);
  detectors.evaluate(replay.events.back().received_at + settle_time, standing);
  replay.verdicts = standing.take();
  return replay;
}

}  // namespace faultline
