#include "diagnose/conclude.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/event_window.h"
#include "detect/failure_case.h"
#include "detect/place_words.h"
#include "detect/verdict_book.h"
#include "diagnose/advice.h"
#include "diagnose/card_beside_job.h"
#include "diagnose/card_in_use.h"
#include "diagnose/runs.h"
#include "diagnose/traceback_frames.h"
#include "diagnose/warnings.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t evidence_max = 16;
constexpr std::size_t timeline_max = 64;
constexpr std::size_t also_seen_max = 8;
constexpr std::string_view node_lost_detector = "node_lost";
constexpr std::array<std::string_view, 2> detectors_beside_rules = {"gpu_health", "shared_storage"};

using EventsById = std::map<EventId, const Event*>;

/// A rule that only says where to look has not found out what it is.
bool is_hint(const Verdict& verdict) { return verdict.confidence <= confidence::hint; }

bool is_unknown(const Verdict& verdict, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  return verdict.status == VerdictStatus::unknown || is_hint(verdict) || cause == nullptr ||
         cause->cause_class == CauseClass::unknown;
}

/// By the lines that they rest on: the first one first, and of those with the same first line the
/// one that rests on most.
std::vector<Verdict> in_order(const Replay& replay) {
  std::map<EventId, std::size_t> place;
  for (const Event& event : replay.events) place.emplace(event.id, place.size());
  const auto rank = [&](const Verdict& verdict) {
    const auto first =
        verdict.evidence.empty() ? place.end() : place.find(verdict.evidence.front());
    return std::pair(first == place.end() ? place.size() : first->second,
                     -static_cast<std::ptrdiff_t>(verdict.evidence.size()));
  };
  std::vector<Verdict> verdicts = replay.verdicts;
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [&](const Verdict& a, const Verdict& b) { return rank(a) < rank(b); });
  return verdicts;
}

/// How much a verdict explains: that of the run's own failure before others, of which its rules
/// have found that they do not explain it; a known cause before an unknown one, then severity, then
/// how sure it is, then what came first.
bool explains_more(const Verdict& a, const Verdict& b, const AttemptId& attempt,
                   const Catalog& catalog) {
  const auto rank = [&](const Verdict& verdict) {
    const Cause* cause = catalog.cause(verdict.cause);
    return std::tuple(verdict.attempt == attempt, !is_unknown(verdict, catalog),
                      verdict.detector == "attribution",
                      cause == nullptr ? Severity::info : cause->severity, verdict.confidence,
                      -verdict.since.time_since_epoch());
  };
  return rank(a) > rank(b);
}

/// The nodes on which the run ran.
std::vector<std::string> nodes_of_run(const Replay& replay) {
  for (const Event& event : replay.events) {
    if (event.kind != EventKind::attempt_started || event.attempt != replay.attempt) continue;
    auto nodes = expand_hostlist(event.field("nodes"), run_nodes_max);
    if (nodes) return std::move(nodes).value();
  }
  return {};
}

/// As its scheduler says, or else with the first line of the job.
Instant start_of_run(const Replay& replay) {
  const auto tells = [&](const Event& event) {
    return event.kind == EventKind::attempt_started && event.attempt == replay.attempt &&
           event.source != EventSource::controller;
  };
  const auto& events = replay.events;
  auto first = std::find_if(events.begin(), events.end(), tells);
  if (first == events.end()) first = std::find_if(events.begin(), events.end(), of_job);
  return first == events.end() ? Instant::min() : first->received_at;
}

/// The rules of a failure ask the kernels. What a health check told the scheduler of one of the
/// run's nodes, as surely and while it ran, answers where they found nothing at all. Of nodes that
/// were lost they know.
void put_health_check_first(std::vector<Verdict>& verdicts, const Replay& replay) {
  if (verdicts.empty() || verdicts.front().rule != nothing_known_rule) return;
  const Instant failed_at = verdicts.front().since;
  const Instant from = std::max(start_of_run(replay), failed_at - before_failure);
  const std::vector<std::string> nodes = nodes_of_run(replay);
  const auto answer = std::find_if(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
    return verdict.detector == node_lost_detector && verdict.cause != cause_id::node_lost &&
           verdict.status == VerdictStatus::confirmed && contains(nodes, verdict.subject.node) &&
           verdict.since >= from && verdict.since <= failed_at + cause_after_failure_max;
  });
  if (answer != verdicts.end()) std::rotate(verdicts.begin(), answer, answer + 1);
}

/// Those that its own lines name; what was read of others may lie beside it by chance.
std::set<std::string> nodes_named_by_run(const Replay& replay) {
  std::set<std::string> nodes;
  for (const Event& event : replay.events) {
    if (!of_job(event)) continue;
    if (!event.subject.node.empty()) nodes.insert(event.subject.node);
    for (const std::string_view name : {"host", "reporter"}) {
      if (const auto host = event.field(name); !host.empty()) nodes.emplace(host);
    }
    auto told = expand_hostlist(event.field("hosts"), run_nodes_max);
    if (told) nodes.insert(told->begin(), told->end());
  }
  return nodes;
}

/// Those that its own lines name, else all that may be the run's.
std::vector<std::string> only_nodes(const Replay& replay) {
  const std::set<std::string> named = nodes_named_by_run(replay);
  return named.empty() ? nodes_of_run(replay) : std::vector(named.begin(), named.end());
}

/// The first time that anybody gives for the run; the beginning of time without one.
Instant told_start(const Replay& replay) {
  const auto told =
      std::find_if(replay.events.begin(), replay.events.end(), [](const Event& event) {
        const bool starts = event.kind == EventKind::attempt_started;
        return event.source != EventSource::controller && known(event.observed_at) &&
               (starts || of_job(event));
      });
  return told == replay.events.end() ? Instant::min() : told->observed_at;
}

/// Since when nothing went on, as far as its logs say when they counted the last step, or how long
/// they waited in vain.
std::optional<Instant> silent_since(const Replay& replay) {
  std::optional<Instant> last_step, wait;
  for (const Event& event : replay.events) {
    if (const auto us = parse_number<std::int64_t>(event.field(last_step_field)))
      last_step = std::max(last_step, std::optional(Instant{std::chrono::microseconds{*us}}));
    const auto seconds = parse_number<std::int32_t>(event.field("timeout_s"));
    if (seconds && of_job(event) && !wait)
      wait = event.received_at - std::chrono::seconds{*seconds};
  }
  return last_step ? last_step : wait;
}

/// The rules of a failure ask the kernels, and neither the readings of GPUs nor what several nodes
/// say of their storage. Who cancels a job that has stood still has a reason: what was said of its
/// nodes as it began to, or meanwhile.
void put_fault_before_cancel(std::vector<Verdict>& verdicts, const Replay& replay) {
  if (verdicts.empty() || verdicts.front().cause != cause_id::cancelled) return;
  const auto silent = silent_since(replay);
  const Instant cancelled_at = verdicts.front().since;
  if (!silent || cancelled_at - *silent < before_failure) return;
  const std::set<std::string> nodes = nodes_named_by_run(replay);
  const auto is_of_run = [&](const Verdict& verdict) {
    return std::any_of(replay.events.begin(), replay.events.end(), [&](const Event& event) {
      return nodes.contains(event.reporter) && contains(verdict.evidence, event.id);
    });
  };
  const auto reason = std::find_if(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
    const bool asked = contains(detectors_beside_rules, verdict.detector);
    return asked && verdict.since >= *silent - before_failure && verdict.since <= cancelled_at &&
           is_of_run(verdict);
  });
  if (reason != verdicts.end()) std::rotate(verdicts.begin(), reason, reason + 1);
}

EvidenceLine evidence_line(const Event& event, const LineNumbers& lines) {
  const auto number = lines.find(event.id);
  EvidenceLine line;
  line.file = event.raw.path;
  line.line = number == lines.end() ? 0 : number->second;
  line.text = event.raw.text;
  line.at = event.observed_at;
  line.source = event.source;
  line.subject = event.subject;
  return line;
}

std::string place_text(const EvidenceLine& line) {
  return line.line == 0 ? line.file : line.file + ":" + std::to_string(line.line);
}

std::string unnamed_job() { return Subject::of_unnamed_job().attempt.job; }

bool tells_of_job(const Replay& replay) {
  return std::any_of(replay.events.begin(), replay.events.end(), [](const Event& event) {
    const bool named = event.attempt && event.attempt->job != unnamed_job();
    return named || of_job(event);
  });
}

/// A run that went well is that, whatever its nodes warn of.
bool says_done(const Replay& replay) {
  return std::any_of(replay.events.begin(), replay.events.end(), [](const Event& event) {
    return event.signature == finished_signature ||
           (event.kind == EventKind::attempt_ended &&
            event.field("state") == to_text(AttemptState::completed));
  });
}

/// What an event is, in a few words: its cause's summary, or what was handed in.
std::string what_of(const Event& event, const Catalog& catalog) {
  const Signature* signature = catalog.signature(event.signature);
  const Cause* cause = signature == nullptr ? nullptr : catalog.cause(signature->cause);
  if (cause != nullptr) return cause->summary;
  if (event.kind == EventKind::operation_pending || event.kind == EventKind::operation_completed)
    return std::string(event.field("op")) + " " + std::string(event.field("seq")) + " of group " +
           std::string(event.field("group")) + ": " + std::string(event.field("state"));
  return std::string(to_text(event.kind));
}

void add_entries(Diagnosis& diagnosis, const std::vector<EventId>& ids, TimelineRole role,
                 const EventsById& events, const LineNumbers& lines, const Catalog& catalog) {
  const bool full = ids.size() + 1 >= verdict_events_max;  // the first cause is one of them
  for (const EventId& id : ids) {
    const auto found = events.find(id);
    if (found == events.end() || diagnosis.timeline.size() >= timeline_max) continue;
    const Event& event = *found->second;
    // What we put around a run ourselves is no line of anybody's.
    if (event.source == EventSource::controller) continue;
    TimelineEntry entry;
    entry.at = known(event.observed_at) ? event.observed_at : event.received_at;
    entry.timed = known(event.observed_at);
    entry.role = role;
    entry.subject = event.subject;
    entry.at_least = full;
    entry.what = what_of(event, catalog);
    const EvidenceLine line = evidence_line(event, lines);
    entry.place = place_text(line);
    diagnosis.timeline.push_back(std::move(entry));
    if (role != TimelineRole::consequence && diagnosis.evidence.size() < evidence_max)
      diagnosis.evidence.push_back(line);
  }
}

/// What many ranks say one after the other is one entry.
void fold_repeats(std::vector<TimelineEntry>& timeline) {
  std::vector<TimelineEntry> folded;
  for (TimelineEntry& entry : timeline) {
    const bool repeats = !folded.empty() && folded.back().what == entry.what &&
                         folded.back().role == entry.role &&
                         folded.back().subject.kind == entry.subject.kind;
    if (repeats) {
      ++folded.back().repeats;
      folded.back().at_least |= entry.at_least;
    } else {
      folded.push_back(std::move(entry));
    }
  }
  timeline = std::move(folded);
}

/// What waited in vain prints it when its time-out is over: it began that much earlier, and that is
/// what came first.
void begin_with_onset(std::vector<TimelineEntry>& timeline, const Verdict& verdict) {
  static constexpr std::array waits = {cause_id::collective_timeout, cause_id::collective_desync};
  if (timeline.empty() || !contains(waits, std::string_view(verdict.cause)) ||
      !known(verdict.since))
    return;
  const TimelineEntry& first = timeline.front();
  if (!first.timed || verdict.since + order_uncertainty > first.at) return;
  TimelineEntry onset;
  onset.at = verdict.since;
  onset.role = TimelineRole::first_cause;
  onset.subject = verdict.subject;
  const bool told = verdict.subject.kind == SubjectKind::rank || concerns_node(verdict.subject);
  onset.what = std::string(told ? "began to keep the others waiting" : "began to wait in vain") +
               ": the time-out counts from here";
  onset.place = first.place;
  for (TimelineEntry& entry : timeline) {
    if (entry.role == TimelineRole::first_cause) entry.role = TimelineRole::evidence;
  }
  timeline.insert(timeline.begin(), std::move(onset));
}

void add_timeline(Diagnosis& diagnosis, const Verdict& verdict, const Replay& replay,
                  const LineNumbers& lines, const Catalog& catalog) {
  EventsById events;
  for (const Event& event : replay.events) events.emplace(event.id, &event);
  if (!verdict.evidence.empty()) {
    add_entries(diagnosis, {verdict.evidence.front()}, TimelineRole::first_cause, events, lines,
                catalog);
    add_entries(diagnosis, {verdict.evidence.begin() + 1, verdict.evidence.end()},
                TimelineRole::evidence, events, lines, catalog);
  }
  add_entries(diagnosis, verdict.consequences, TimelineRole::consequence, events, lines, catalog);
  std::stable_sort(diagnosis.timeline.begin(), diagnosis.timeline.end(),
                   [](const TimelineEntry& a, const TimelineEntry& b) { return a.at < b.at; });
  begin_with_onset(diagnosis.timeline, verdict);
  fold_repeats(diagnosis.timeline);
}

std::string also_text(const Verdict& verdict, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  return place_words(verdict.subject) + ": " + (cause == nullptr ? verdict.cause : cause->summary) +
         " (" + verdict.cause + ", " + std::string(to_text(verdict.status)) + ")";
}

/// A report that names no machine, beside a run of which several are known, may be of any of them.
void ask_whose_report(Diagnosis& diagnosis, const Verdict& verdict, const Replay& replay,
                      const Catalog& catalog) {
  if (verdict.detector != "gpu_health" || verdict.subject.node != unnamed_node) return;
  const auto told =
      std::find_if(replay.events.begin(), replay.events.end(),
                   [&](const Event& event) { return contains(verdict.evidence, event.id); });
  const Cause* cause = catalog.cause(verdict.cause);
  if (told == replay.events.end() || cause == nullptr) return;
  diagnosis.missing.push_back("which machine " + told->raw.path + " is of: it names none (" +
                              cause->summary + ": GPU " + verdict.subject.part + ")");
}

/// The node's kernel began anew after the last line that the verdict rests on.
bool rebooted_since(const Verdict& verdict, const Replay& replay) {
  const auto is_evidence = [&](const Event& event) {
    return std::find(verdict.evidence.begin(), verdict.evidence.end(), event.id) !=
           verdict.evidence.end();
  };
  const auto last = std::find_if(replay.events.rbegin(), replay.events.rend(), is_evidence);
  if (last == replay.events.rend()) return false;
  return std::any_of(replay.events.rbegin(), last, [&](const Event& event) {
    return event.signature == boot_signature && node_of(event) == verdict.subject.node;
  });
}

/// Several nodes can be lost at once, and a verdict has one subject. The nodes that only tell of it
/// are none of them.
void add_other_nodes(Diagnosis& diagnosis, const Verdict& verdict, const Replay& replay,
                     NodeManager manager, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  if (cause == nullptr || verdict.rule != "node_failed" ||
      verdict.subject.kind != SubjectKind::node)
    return;
  for (const Event& event : replay.events) {
    const Signature* signature = catalog.signature(event.signature);
    if (signature == nullptr || !tells_of_node(event, *signature)) continue;
    if (!contains(verdict.evidence, event.id)) continue;
    const auto& named = diagnosis.subjects;
    if (std::find(named.begin(), named.end(), event.subject) != named.end()) continue;
    Verdict other = verdict;
    other.subject = event.subject;
    diagnosis.subjects.push_back(event.subject);
    const Advice advice = advise(other, *cause, {manager});
    diagnosis.commands.insert(diagnosis.commands.end(), advice.commands.begin(),
                              advice.commands.end());
  }
}

/// The first of what the verdict rests on; null if it is not there.
const Event* first_evidence(const Verdict& verdict, const Replay& replay) {
  if (verdict.evidence.empty()) return nullptr;
  const auto event =
      std::find_if(replay.events.begin(), replay.events.end(),
                   [&](const Event& other) { return other.id == verdict.evidence.front(); });
  return event == replay.events.end() ? nullptr : &*event;
}

/// Where the program was, and whose driver spoke, as the first of the evidence came.
Circumstances circumstances_of(const Verdict& verdict, const Replay& replay, NodeManager manager) {
  Circumstances circumstances{manager, rebooted_since(verdict, replay)};
  if (const Event* event = first_evidence(verdict, replay)) {
    circumstances.frame = event->field(frame_field);
    if (event->signature.starts_with("amdgpu.")) circumstances.gpu_maker = GpuMaker::amd;
  }
  return circumstances;
}

void add_verdict(Diagnosis& diagnosis, const Verdict& verdict, const Replay& replay,
                 NodeManager manager, const Catalog& catalog) {
  const Cause* cause = catalog.cause(verdict.cause);
  diagnosis.status =
      is_unknown(verdict, catalog) ? DiagnosisStatus::undecided : DiagnosisStatus::attributed;
  diagnosis.cause = verdict.cause;
  diagnosis.rule = verdict.rule.empty() ? verdict.detector : verdict.rule;
  diagnosis.subjects = {verdict.subject};
  diagnosis.confidence = verdict.confidence;
  diagnosis.explanation = trim(verdict.explanation);
  diagnosis.missing = verdict.missing;
  if (cause == nullptr) return;
  diagnosis.cause_class =
      diagnosis.status == DiagnosisStatus::undecided ? CauseClass::unknown : cause->cause_class;
  diagnosis.summary = cause->summary;
  for (const std::string& id : cause->cases) {
    const PublicCase* told = catalog.public_case(id);
    diagnosis.cases.push_back(told == nullptr ? PublicCase{id, {}, {}, {}} : *told);
  }
  const Advice advice = advise(verdict, *cause, circumstances_of(verdict, replay, manager));
  diagnosis.evict = advice.evict;
  diagnosis.action = advice.action;
  diagnosis.commands = advice.commands;
}

}  // namespace

Diagnosis conclude(const Catalog& catalog, const Replay& replay, const LineNumbers& lines,
                   NodeManager manager) {
  Diagnosis diagnosis;
  diagnosis.run =
      "job " + replay.attempt.job +
      (replay.attempt.restart == 0 ? "" : ", restart " + std::to_string(replay.attempt.restart));
  std::vector<Verdict> verdicts = in_order(replay);
  std::stable_sort(verdicts.begin(), verdicts.end(), [&](const Verdict& a, const Verdict& b) {
    return explains_more(a, b, replay.attempt, catalog);
  });
  put_health_check_first(verdicts, replay);
  put_fault_before_cancel(verdicts, replay);
  const RunPlace place{only_nodes(replay), told_start(replay), replay.events};
  put_card_beside_job(verdicts, place, catalog);
  name_holder_of_card(verdicts, place);
  if (verdicts.empty() && !says_done(replay)) {
    const WarningsOf which = tells_of_job(replay) ? WarningsOf::settings : WarningsOf::all;
    if (auto warning = worst_warning(replay, catalog, which))
      verdicts.push_back(*std::move(warning));
  }
  if (verdicts.empty()) {
    if (replay.failed) diagnosis.status = DiagnosisStatus::undecided;
    return diagnosis;
  }
  add_verdict(diagnosis, verdicts.front(), replay, manager, catalog);
  add_timeline(diagnosis, verdicts.front(), replay, lines, catalog);
  add_other_nodes(diagnosis, verdicts.front(), replay, manager, catalog);
  for (const Verdict& verdict : verdicts) {
    if (verdict.id != verdicts.front().id) ask_whose_report(diagnosis, verdict, replay, catalog);
    const bool same = verdict.id == verdicts.front().id || verdict.cause == diagnosis.cause;
    if (!same && diagnosis.also_seen.size() < also_seen_max)
      diagnosis.also_seen.push_back(also_text(verdict, catalog));
  }
  return diagnosis;
}

}  // namespace faultline
