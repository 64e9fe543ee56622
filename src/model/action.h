// Decision, Action, Outcome: what policy proposes, what is done, what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/time.h"
#include "model/subject.h"
#include "model/verdict.h"

namespace faultline {

enum class Mode { observe, suggest, act };
FAULTLINE_ENUM_NAMES(Mode, "observe", "suggest", "act");

enum class ActionKind {
  drain_node,         // take the node out of scheduling; running jobs are left alone
  requeue_excluding,  // put the job back without the node; pending array siblings get the exclusion
                      // too
  hold_job,           // stop a restart loop
  test_node,          // run the site's own command on a drained or idle node
  return_node,        // undo a drain of our own
  notify,             // tell people
};
FAULTLINE_ENUM_NAMES(ActionKind, "drain_node", "requeue_excluding", "hold_job", "test_node",
                     "return_node", "notify");

enum class Ruling { act, hold, deny, ask };
FAULTLINE_ENUM_NAMES(Ruling, "act", "hold", "deny", "ask");

/// Why a ruling came out as it did; one per guard outcome, plus `all_guards_passed`.
enum class Reason {
  all_guards_passed,
  mode_observe,         // observe: nothing is done
  mode_suggest,         // suggest: the commands are printed
  source_untrusted,     // a job's own words cannot touch this subject
  wrong_speaker,        // an agent spoke for another node
  evidence_incomplete,  // verdict unknown or without evidence
  not_confirmed,        // suspected only
  verdict_stale,        // evidence older than the limit
  not_settled,          // inside the lateness bound
  cleared,              // verdict taken back
  silenced,             // a person said no for a time
  covered_by_wider,     // rack beats node beats GPU
  already_acted,        // same act done or on its way
  fault_stands,         // another verdict against the node was not taken back
  returned_since,       // the node was given back, or passed its test, after what the verdict says
  already_drained,      // the node is out of service already
  owned_by_other,       // somebody else's drain or reservation
  node_busy,            // a job runs on the node that would be tested
  tested_lately,        // the node was tested on a job's word a short while ago
  rate_limited,         // acts per hour
  blast_radius,         // share or number of nodes at once
  capacity_floor,       // too few healthy nodes would be left
  no_spare,             // the job could not run without the node
  not_restartable,      // the scheduler cannot requeue this job
  restart_loop,         // too many restarts without progress
  remedy_not_node,      // the catalog does not ask for anything on the node
  node_unknown,         // the scheduler does not know the node
  view_stale,           // the scheduler has not answered lately
  approval_needed,
  denied_by_person,
};
FAULTLINE_ENUM_NAMES(Reason, "all_guards_passed", "mode_observe", "mode_suggest",
                     "source_untrusted", "wrong_speaker", "evidence_incomplete", "not_confirmed",
                     "verdict_stale", "not_settled", "cleared", "silenced", "covered_by_wider",
                     "already_acted", "fault_stands", "returned_since", "already_drained",
                     "owned_by_other", "node_busy", "tested_lately", "rate_limited", "blast_radius",
                     "capacity_floor", "no_spare", "not_restartable", "restart_loop",
                     "remedy_not_node", "node_unknown", "view_stale", "approval_needed",
                     "denied_by_person");

using DecisionId = std::string;  // "d-" and 16 hexadecimal digits
using ActionId = std::string;    // "a-" and 16 hexadecimal digits; the idempotency key

struct Action {
  ActionId id;
  DecisionId decision;
  ActionKind kind = ActionKind::notify;
  Subject subject;                   // drain, test, return: node; requeue, hold: job
  std::optional<AttemptId> attempt;  // requeue, hold: the attempt that failed
  std::vector<std::string> nodes;    // requeue_excluding: nodes to exclude
  std::vector<std::string> keep;     // requeue_excluding: healthy nodes that the attempt had
  std::string
      reason;  // "faultline:a-... gpu.ecc_uncorrectable"; written where the scheduler keeps reasons
  Duration deadline{std::chrono::seconds{30}};
  bool dry_run = true;

  bool operator==(const Action&) const = default;
};

struct Decision {
  DecisionId id;
  VerdictId verdict;
  Action action;  // what is proposed
  Ruling ruling = Ruling::hold;
  Reason reason = Reason::evidence_incomplete;
  std::string guard;   // the guard that ruled, e.g. "blast_radius"
  std::string detail;  // one line for people, with the numbers
  Mode mode = Mode::observe;
  Instant decided_at;
  std::string saw;  // JSON: the part of the cluster view and history that this ruling looked at

  bool operator==(const Decision&) const = default;
};

enum class OutcomeStatus { done, failed, unknown };
FAULTLINE_ENUM_NAMES(OutcomeStatus, "done", "failed", "unknown");

struct Outcome {
  ActionId action;
  OutcomeStatus status = OutcomeStatus::unknown;
  Instant at;
  std::string detail;  // what was seen: "n3 drained by faultline", "slurmctld does not answer"
  std::vector<std::string> commands;  // the exact commands run, or that would be (dry run)
  bool retryable = false;             // failed, but the same act may be tried again

  bool operator==(const Outcome&) const = default;
};

DecisionId make_decision_id(const VerdictId& verdict, ActionKind kind, const Subject& subject);
ActionId make_action_id(const DecisionId& decision);

/// True if a drain reason text was written by faultline ("faultline:a-... cause").
bool reason_is_ours(std::string_view reason);

}  // namespace faultline
