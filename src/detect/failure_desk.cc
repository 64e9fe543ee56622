#include "detect/failure_desk.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/clean_record.h"
#include "detect/missing_gpu.h"
#include "model/names.h"

namespace faultline {
namespace {

bool failed(AttemptState state) { return ended(state) && state != AttemptState::completed; }

/// The scheduler ends what ran on a node as it gives the node up.
constexpr Duration node_failure_span = std::chrono::minutes{1};

/// First number of "136" or "3-5,9": srun names the tasks that ended together.
std::int32_t first_number(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789");
  return parse_number<std::int32_t>(text.substr(0, end)).value_or(-1);
}

/// "[rank12]:" is the rank in the whole job; a "Rank 0" behind it may be that of a process group.
std::int32_t tagged_rank(std::string_view text) {
  const auto at = text.find("[rank");
  if (at == std::string_view::npos) return -1;
  const std::string_view number = text.substr(at + 5);
  const auto end = number.find(']');
  return end == std::string_view::npos
             ? -1
             : parse_number<std::int32_t>(number.substr(0, end)).value_or(-1);
}

std::string host_in(const Event& event) {
  if (const auto host = event.field("host"); !host.empty()) return std::string(host);
  const auto hosts = event.field("hosts");
  if (hosts.empty() || hosts.size() > 256) return {};
  const auto names = expand_hostlist(hosts, 2);
  return names.ok() && names.value().size() == 1 ? names.value().front() : std::string{};
}

/// The only node that was heard of is a good guess, and no ground to take it out of service. Where
/// another tells that it is gone, that other is there as well.
bool is_only_node(const AttemptRecord& attempt, const JobLine& line, bool told_by_another) {
  const bool blames = line.cause != nullptr && says_hardware(line);
  return attempt.nodes.size() == 1 && !(attempt.nodes_heard && (blames || told_by_another));
}

bool tells_of_node(const Fact& fact, const Catalog& catalog) {
  const Signature* signature = catalog.signature(fact.event.signature);
  return signature != nullptr && tells_of_node(fact.event, *signature);
}

JobLine make_line(const Fact& fact, const AttemptRecord& attempt, const Catalog& catalog,
                  bool told_by_another) {
  JobLine line;
  const Event& event = fact.event;
  line.fact = &fact;
  line.signature = catalog.signature(event.signature);
  line.cause = line.signature == nullptr ? nullptr : catalog.cause(line.signature->cause);
  line.rank = tagged_rank(event.raw.text);
  if (line.rank < 0) line.rank = first_number(event.field("rank"));
  if (line.rank < 0) line.rank = first_number(event.field("tasks"));
  if (line.rank < 0 && event.subject.kind == SubjectKind::rank) line.rank = event.subject.rank;
  const std::string host = event.subject.node.empty() ? host_in(event) : event.subject.node;
  if (const std::string* node = attempt.node_called(host)) line.node = *node;
  if (line.node.empty() && attempt.nodes.empty()) line.node = host;
  if (line.rank < 0 && !line.node.empty())
    line.rank = attempt.rank_at(line.node, first_number(event.field("local_rank")));
  if (line.node.empty()) {
    const RankPlace* place = attempt.place_of(line.rank);
    if (place != nullptr) line.node = place->node;
  }
  if (line.node.empty() && is_only_node(attempt, line, told_by_another))
    line.node = attempt.nodes.front();
  return line;
}

/// The collective that timed out had been waited for this long when it was printed.
Instant onset_of(const Fact& fact) {
  auto waited = parse_number<std::int64_t>(fact.event.field("timeout_ms")).value_or(0);
  const auto seconds = parse_number<std::int64_t>(fact.event.field("timeout_s")).value_or(0);
  if (waited == 0 && seconds < older_errors_span / std::chrono::seconds{1}) waited = seconds * 1000;
  constexpr auto longest =
      std::chrono::duration_cast<std::chrono::milliseconds>(older_errors_span).count();
  return fact.at - std::chrono::milliseconds{std::clamp<std::int64_t>(waited, 0, longest)};
}

/// The training went on from a checkpoint. That one rank counts on is no restart.
bool tells_of_restart(const Event& event) {
  return event.signature == resumed_signature && event.field(went_on_field).empty();
}

/// A launcher's word that a process failed.
bool tells_of_exit(const Event& event, const Catalog& catalog) {
  const Signature* signature = catalog.signature(event.signature);
  return signature != nullptr &&
         (signature->cause == cause_id::worker_failed ||
          signature->cause == cause_id::task_failed || signature->cause == cause_id::crash_signal);
}

}  // namespace

void FailureDesk::observe(const Event& event) {
  clocks_.observe(event);
  observe_node(event);
  observe_attempt(event);
}

void FailureDesk::observe_node(const Event& event) {
  const std::string& node = node_of(event);
  if (node.empty()) return;
  if (cleans_record(event)) clean_since_[node] = happened_at(event);
  if (event.kind == EventKind::node_seen) {
    if (says_down(event)) {
      if (down_.try_emplace(node, happened_at(event)).second) tell_failures_on(node);
    } else if (!event.field("state").empty() || !event.field("down").empty()) {
      down_.erase(node);  // a reason without a state says nothing of it
    }
  }
  if (event.source == EventSource::scheduler && event.kind == EventKind::log_signature)
    remember_lost(node, event);
  if (event.source == EventSource::agent || event.source == EventSource::kernel_log) {
    if (heard_.size() < desk_nodes_max && heard_.insert(node).second) tell_failures_on(node);
  }
  if (event.source != EventSource::kernel_log || event.kind != EventKind::log_signature) return;
  if (kernel_.size() >= desk_nodes_max && !kernel_.contains(node)) return;
  EventWindow& window = kernel_.try_emplace(node, desk_node_facts_max).first->second;
  window.forget_before(learnt_at(event) - catalog_.policy().limits.repeat_window);
  const Signature* signature = catalog_.signature(event.signature);
  const Cause* cause = signature == nullptr ? nullptr : catalog_.cause(signature->cause);
  if (!window.add(event, may_be_root(event), signature, cause)) return;
  tell_failures_on(node);
}

/// By the log of the scheduler, which says it of the node and not of the job.
void FailureDesk::remember_lost(const std::string& node, const Event& event) {
  const Signature* signature = catalog_.signature(event.signature);
  if (signature == nullptr || signature->cause != cause_id::node_lost) return;
  if (signature->use == SignatureUse::clears) {
    lost_.erase(node);
  } else if (signature->role == Role::root &&
             (lost_.size() < desk_nodes_max || lost_.contains(node))) {
    lost_[node] = happened_at(event);
    tell_failures_on(node);
  }
}

bool FailureDesk::lost_at(const std::string& node, Instant failed_at) const {
  if (down_.contains(node)) return true;
  const auto lost = lost_.find(node);
  return lost != lost_.end() && lost->second >= failed_at - node_failure_span &&
         lost->second <= failed_at + cause_after_failure_max;
}

void FailureDesk::tell_failures_on(const std::string& node) {
  for (const AttemptId& id : open_) {
    const AttemptRecord* record = attempts_.find(id);
    if (record != nullptr && contains(record->nodes, node)) lines_[id].news = true;
  }
}

bool FailureDesk::may_be_root(const Event& event) const {
  const Signature* signature = catalog_.signature(event.signature);
  if (signature == nullptr || signature->role != Role::root) return false;
  return signature->strength != Strength::lead || signature->layer == Layer::application;
}

void FailureDesk::observe_attempt(const Event& event) {
  const AttemptRecord* record = attempts_.observe(event);
  for (const AttemptId& id : attempts_.take_forgotten()) {
    lines_.erase(id);
    open_.erase(id);
  }
  if (record == nullptr) return;
  Lines& lines = lines_[record->id];
  if (const auto us = parse_number<std::int64_t>(event.field(last_step_field))) {
    lines.last_step = std::max(lines.last_step, Instant{std::chrono::microseconds{*us}});
    return;
  }
  if (event.kind == EventKind::rank_started && record->ranks.contains(event.subject.rank))
    lines.started[event.subject.rank] = happened_at(event);
  const bool job_line = event.kind == EventKind::log_signature &&
                        event.source != EventSource::kernel_log &&
                        event.signature != own_address_signature;
  if (job_line && !open_.contains(record->id))
    lines.window.forget_before(learnt_at(event) - running_lines_span);
  const bool is_news = (job_line && lines.window.add(event, may_be_root(event))) ||
                       lines.operations.add(event) || event.kind == EventKind::attempt_ended ||
                       event.kind == EventKind::rank_exited;
  lines.news = lines.news || is_news;
  remember_error(event, lines);
  if (event.kind == EventKind::attempt_ended || failing_of(*record) != nullptr)
    open_.insert(record->id);
}

void FailureDesk::remember_error(const Event& event, Lines& lines) const {
  const bool went_on = !event.field(went_on_field).empty();
  if (event.kind == EventKind::rank_started || tells_of_restart(event))
    lines.errors.forget_before(happened_at(event));
  if (event.kind != EventKind::log_signature || event.source == EventSource::kernel_log) return;
  lines.errors.forget_before(learnt_at(event) - older_errors_span);
  if (may_be_root(event) || went_on || tells_of_exit(event, catalog_)) lines.errors.add(event);
}

/// The end if it was a failure, or else the first rank that failed; nullptr if nothing failed.
const Fact* FailureDesk::failing_of(const AttemptRecord& record) const {
  if (record.end && record.state != AttemptState::unknown) {
    return failed(record.state) ? &*record.end : nullptr;
  }
  const Fact* first = nullptr;
  for (const auto& [rank, exit] : record.failed_ranks) {
    if (first == nullptr || exit.at < first->at) first = &exit;
  }
  return first;
}

void FailureDesk::evaluate(Instant now,
                           const std::function<void(const ExplainedFailure&)>& explained,
                           const std::function<void(const AttemptId&, bool)>& closed) {
  for (auto id = open_.begin(); id != open_.end();) {
    const AttemptRecord* record = attempts_.find(*id);
    const Fact* failing = record == nullptr ? nullptr : failing_of(*record);
    if (failing == nullptr || (record->end && now - failing->arrived > after_failure)) {
      closed(*id, failing != nullptr);
      lines_.erase(*id);
      id = open_.erase(id);
      continue;
    }
    Lines& lines = lines_[*id];
    if (lines.news || (!lines.settled && settled(*failing, now)))
      explain_attempt(*record, *failing, lines, now, explained);
    ++id;
  }
}

/// Late evidence has been waited for. What was learnt of the nodes meanwhile (a kernel fault, a
/// node that is down) is no news of the attempt: an explanation takes it in with the next news, or
/// now.
bool FailureDesk::settled(const Fact& failing, Instant now) const {
  return now - failing.arrived >= catalog_.policy().limits.lateness;
}

void FailureDesk::explain_attempt(const AttemptRecord& record, const Fact& failing, Lines& lines,
                                  Instant now,
                                  const std::function<void(const ExplainedFailure&)>& explained) {
  const Instant failed_at = clocks_.corrected(failing);
  FailureCase failure{
      catalog_, record, failing, failed_at, failed_at, lines_of(record, lines, failed_at),
      {},       {},     {},      {},        {},        lines.operations};
  for (const auto& [rank, exit] : record.failed_ranks)
    failure.failed_at = std::min(failure.failed_at, clocks_.corrected(exit));
  failure.onset = failure.failed_at;
  for (const auto& [rank, at] : lines.started)
    failure.restarted_at = std::max(failure.restarted_at, at);
  for (const Fact& fact : lines.window.facts()) {
    if (tells_of_restart(fact.event))
      failure.restarted_at = std::max(failure.restarted_at, fact.at);
  }
  for (const JobLine& line : failure.lines)
    failure.onset = std::min(failure.onset, onset_of(*line.fact));
  add_faults(record, lines.last_step, failure);
  for (const std::string& node : record.nodes) {
    if (heard_.contains(node)) failure.heard.push_back(node);
    if (lost_at(node, failure.failed_at)) failure.down.push_back(node);
  }
  failure.suspected_before = suspected_before(record, failure.failed_at);
  const Explanation explanation = explain(failure);
  lines.news = false;
  lines.settled = settled(failing, now);
  remember_suspicion(failure, explanation);
  const bool stale = now - failure.failed_at > catalog_.policy().limits.verdict_age_max;
  explained({failure, explanation, lines.settled, stale});
}

namespace {

/// What one line says about a process or a rank holds for the other lines about it.
class Places {
 public:
  void learn(const JobLine& line) {
    if (line.cause->id == cause_id::task_failed) nodes_of_failed_tasks_.insert(line.node);
    if (line.rank < 0) return;
    if (const std::string key = process_of(line); !key.empty())
      rank_of_process_.try_emplace(key, line.rank);
    if (!line.node.empty()) node_of_rank_.try_emplace(line.rank, line.node);
  }
  void complete(JobLine& line) const {
    const auto rank = rank_of_process_.find(process_of(line));
    if (line.rank < 0 && rank != rank_of_process_.end()) line.rank = rank->second;
    const auto node = node_of_rank_.find(line.rank);
    if (line.node.empty() && node != node_of_rank_.end()) line.node = node->second;
    // An error that nobody signs is of the task that ended with a code, if only one node had any.
    if (line.node.empty() && line.rank < 0 && says_hardware(line) &&
        nodes_of_failed_tasks_.size() == 1)
      line.node = *nodes_of_failed_tasks_.begin();
  }

 private:
  /// Process numbers are those of one node, so they hold within one log.
  static std::string process_of(const JobLine& line) {
    const std::string_view pid = line.fact->event.field("pid");
    return pid.empty() ? std::string{} : line.fact->event.raw.path + '\n' + std::string(pid);
  }
  std::map<std::string, std::int32_t> rank_of_process_;
  std::map<std::int32_t, std::string> node_of_rank_;
  std::set<std::string> nodes_of_failed_tasks_;  // "" of tasks on several
};

/// The attempt's own spelling of a node, where its nodes are known; a name that is none of them is
/// no place.
void spell_node(JobLine& line, const AttemptRecord& attempt) {
  if (attempt.nodes.empty()) return;
  const std::string* node = attempt.node_called(line.node);
  line.node = node == nullptr ? "" : *node;
}

}  // namespace

FactList FailureDesk::facts_about(const Lines& lines, Instant failed_at) const {
  const Facts& recent = lines.window.facts();
  const Facts& errors = lines.errors.facts();
  Instant began = failed_at;
  for (const Fact& fact : recent) began = std::min(began, onset_of(fact));
  for (const Fact& fact : errors) {
    if (tells_of_exit(fact.event, catalog_)) began = std::min(began, fact.at);
  }
  std::set<EventId> known_ids;
  FactList facts;
  for (const Fact& fact : recent) {
    facts.push_back(&fact);
    known_ids.insert(fact.event.id);
  }
  for (const Fact& fact : errors) {
    if (fact.at >= began - running_lines_span && !known_ids.contains(fact.event.id))
      facts.push_back(&fact);
  }
  std::stable_sort(facts.begin(), facts.end(),
                   [](const Fact* a, const Fact* b) { return a->at < b->at; });
  return facts;
}

std::vector<JobLine> FailureDesk::lines_of(const AttemptRecord& record, const Lines& lines,
                                           Instant failed_at) const {
  std::vector<JobLine> known_lines;
  Places places;
  const FactList facts = facts_about(lines, failed_at);
  const bool told_by_another = std::any_of(
      facts.begin(), facts.end(), [&](const Fact* fact) { return tells_of_node(*fact, catalog_); });
  for (const Fact* fact : facts) {
    JobLine line = make_line(*fact, record, catalog_, told_by_another);
    if (line.cause == nullptr) continue;
    const SignatureUse use = line.signature->use;
    if (use == SignatureUse::identity || use == SignatureUse::clears) continue;
    spell_node(line, record);
    places.learn(line);
    known_lines.push_back(std::move(line));
  }
  for (JobLine& line : known_lines) places.complete(line);
  mark_outlived(known_lines, lines.started);
  // A sign of life, and no part of what a failure led to.
  std::erase_if(known_lines,
                [](const JobLine& line) { return line.signature->id == resumed_signature; });
  return known_lines;
}

Instant FailureDesk::cleaned_before(const std::string& node, Instant failed_at) const {
  const auto clean = clean_since_.find(node);
  return clean == clean_since_.end() || clean->second > failed_at ? Instant::min() : clean->second;
}

std::vector<NodeFaults> FailureDesk::faults_of(const AttemptRecord& record) const {
  std::vector<NodeFaults> all;
  for (const std::string& node : record.nodes) {
    const auto window = kernel_.find(node);
    if (window == kernel_.end()) continue;
    all.push_back(
        {node, clocks_.of(node), judge_kernel_facts(list_of(window->second.facts()), catalog_)});
  }
  return all;
}

std::vector<NodeFaults> FailureDesk::faults_between(std::vector<NodeFaults> all,
                                                    const FailureCase& failure, Instant from,
                                                    Instant to) const {
  for (NodeFaults& on_node : all) {
    // What was said before the node was given back is not why a job fails there afterwards.
    const Instant since = std::max(from, cleaned_before(on_node.node, failure.failed_at));
    for (KernelFault& fault : on_node.faults) {
      std::erase_if(fault.evidence, [&](const Fact* fact) {
        const Instant at = clocks_.corrected(*fact);
        return at < since || at > to;
      });
    }
    std::erase_if(on_node.faults, [](const KernelFault& fault) { return fault.evidence.empty(); });
  }
  std::erase_if(all, [](const NodeFaults& on_node) { return on_node.faults.empty(); });
  return all;
}

namespace {

bool ended_by_order(const FailureCase& failure) {
  return is_order(failure.attempt.state) ||
         std::any_of(failure.lines.begin(), failure.lines.end(),
                     [](const JobLine& line) { return is_order(line); });
}

/// A limit takes down jobs that are well; a cancel also comes behind what went wrong by itself.
bool was_at_work(const FailureCase& failure) {
  return failure.attempt.state == AttemptState::timeout && !failed_by_itself(failure);
}

}  // namespace

void FailureDesk::add_faults(const AttemptRecord& record, Instant last_step,
                             FailureCase& failure) const {
  const std::vector<NodeFaults> faults = faults_of(record);
  const Instant until = failure.failed_at + cause_after_failure_max;
  Instant from = failure.onset - before_failure;
  failure.afterwards =
      faults_between(faults, failure, until + Duration{1}, failure.failed_at + after_failure);
  const bool steps_known = last_step != Instant::min();
  // What was before a step did not keep the job from it.
  const Instant after_work = steps_known ? last_step - cause_after_failure_max : Instant::min();
  if (steps_known && from - last_step >= before_failure && ended_by_order(failure)) {
    failure.nodes = faults_between(faults, failure, after_work, last_step + before_failure);
    if (!failure.nodes.empty()) {
      failure.stood_still_since = last_step;
      return;
    }
  }
  if (steps_known && was_at_work(failure)) from = std::max(from, after_work);
  failure.nodes = faults_between(faults, failure, from, until);
  if (std::any_of(failure.lines.begin(), failure.lines.end(), misses_gpu))
    add_lost_gpus(faults_between(faults, failure, Instant::min(), from), failure);
}

void FailureDesk::add_lost_gpus(const std::vector<NodeFaults>& earlier,
                                FailureCase& failure) const {
  for (const NodeFaults& on_node : earlier) {
    const Instant booted = booted_before(on_node.node, failure.failed_at);
    NodeFaults lost{on_node.node, on_node.clock_offset, {}};
    std::copy_if(on_node.faults.begin(), on_node.faults.end(), std::back_inserter(lost.faults),
                 [&](const KernelFault& fault) {
                   return fault.since() > booted && explains_missing_gpu(fault, on_node, failure);
                 });
    if (!lost.faults.empty()) failure.nodes.push_back(std::move(lost));
  }
}

Instant FailureDesk::booted_before(const std::string& node, Instant failed_at) const {
  Instant booted = Instant::min();
  const auto window = kernel_.find(node);
  if (window == kernel_.end()) return booted;
  for (const Fact& fact : window->second.facts()) {
    if (fact.event.signature == boot_signature && fact.at <= failed_at) booted = fact.at;
  }
  return booted;
}

void FailureDesk::remember_suspicion(const FailureCase& failure, const Explanation& explanation) {
  auto& family = suspicions_[failure.attempt.family()];
  if (!explanation.hardware) {
    family.erase(failure.attempt.id);
  } else {
    Suspicion& suspicion = family[failure.attempt.id];
    suspicion.at = failure.failed_at;
    suspicion.nodes = {explanation.node};
    if (explanation.node.empty())
      suspicion.nodes = {failure.attempt.nodes.begin(), failure.attempt.nodes.end()};
  }
  if (family.empty()) suspicions_.erase(failure.attempt.family());
  while (suspicions_.size() > attempts_max) suspicions_.erase(suspicions_.begin());
}

std::vector<std::string> FailureDesk::suspected_before(const AttemptRecord& record,
                                                       Instant failed_at) const {
  std::vector<std::string> nodes;
  const auto family = suspicions_.find(record.family());
  if (family == suspicions_.end()) return nodes;
  for (const auto& [id, suspicion] : family->second) {
    const bool lately = failed_at - suspicion.at <= catalog_.policy().limits.repeat_window;
    if (id == record.id || !lately || suspicion.at > failed_at) continue;
    for (const std::string& node : suspicion.nodes) {
      if (cleaned_before(node, failed_at) < suspicion.at) nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace faultline
