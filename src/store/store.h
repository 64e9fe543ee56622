// The store: everything on the flow's arrows, in SQLite (WAL). The only SQL in the tree. One Store
// a process; its threads may share it, a mutex inside serialises what they do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"
#include "model/attempt.h"
#include "model/event.h"
#include "model/incident.h"
#include "model/node_state.h"
#include "model/person_request.h"
#include "model/verdict.h"

namespace faultline {

enum class Access { read_only, read_write };

/// A request a person left in the store: `faultline approve|deny|return|repair|silence|unsilence`
/// on the controller's host.
struct PersonRequest {
  std::int64_t number = 0;
  std::optional<RequestKind> kind;  // nothing: of another version of this program
  std::string target;               // of a repair or silence: store/person_request.h
  std::string who;                  // user name and uid
  Instant at;
  PersonAnswer answer;  // open until the controller took it
};

/// An act with everything that led to it.
struct ActionRecord {
  Action action;
  Instant intended_at;
  std::optional<Outcome> outcome;
};

struct Page {
  std::size_t limit = 200;
  Instant since;  // unknown: from the beginning
};

/// How long things are kept.
struct Retention {
  /// Events that no verdict refers to, and the earlier states of nouns.
  Duration events = std::chrono::hours{24 * 90};
  /// Attempts, verdicts, decisions, acts, incidents and what people asked for. The default is a
  /// year and some, so that the same season of last year can be looked at.
  Duration records = std::chrono::hours{24 * 400};
};

class Store {
 public:
  /// Opens or creates. Runs migrations (read_write) after copying the file to FILE.before-vN.
  /// corrupt if the file is damaged, with what to do; unavailable if a newer faultline wrote it;
  /// invalid_argument, and nothing is changed, if it is another program's database; not_found if
  /// there is none to read.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& file, Access access);
  virtual ~Store() = default;

  // Events. Durable on return; duplicates (same id) are ignored. Returns those that were new, in
  // the order given.
  virtual Result<std::vector<Event>> append_events(const std::vector<Event>& events) = 0;
  virtual Result<std::optional<Event>> event(const EventId& id) = 0;
  /// The newest `limit`, in the order in which they came.
  virtual Result<std::vector<Event>> events(const Page& page) = 0;
  virtual Result<std::vector<Event>> events_of_attempt(const AttemptId& attempt,
                                                       const Page& page) = 0;

  // Verdicts: the newest of an id is kept; earlier states stay in verdict_history.
  virtual Status put_verdict(const Verdict& verdict) = 0;
  virtual Result<std::optional<Verdict>> verdict(const VerdictId& id) = 0;
  virtual Result<std::vector<Verdict>> verdicts(const Page& page) = 0;  // newest first
  virtual Result<std::vector<Verdict>> verdict_history(const VerdictId& id) = 0;

  virtual Status put_decision(const Decision& decision) = 0;
  virtual Result<std::optional<Decision>> decision(const DecisionId& id) = 0;
  virtual Result<std::vector<Decision>> decisions(const Page& page) = 0;  // newest first
  virtual Result<std::vector<Decision>> decisions_of_verdict(const VerdictId& verdict) = 0;

  // The intent journal (act/journal.h binds to these).
  virtual Status record_intent(const Action& action, Instant now) = 0;
  virtual Status record_outcome(const Outcome& outcome) = 0;
  /// What was done came undone without anybody's will: the intent is open again, as of `now`.
  /// conflict unless its outcome is `done`.
  virtual Status reopen_action(const ActionId& id, Instant now) = 0;
  virtual Result<std::vector<Action>> open_intents() = 0;
  virtual Result<std::optional<ActionRecord>> action(const ActionId& id) = 0;
  virtual Result<std::vector<ActionRecord>> actions(const Page& page) = 0;  // newest first

  /// The exclusions stay those of the first time: later ones are of the job's next attempt.
  virtual Status put_attempt(const Attempt& attempt) = 0;
  virtual Result<std::vector<Attempt>> attempts(const Page& page) = 0;  // newest first
  /// Those that run, as far as is known, or ended at `since` or later: the newest `limit`, newest
  /// first.
  virtual Result<std::vector<Attempt>> attempts_alive_since(Instant since, std::size_t limit) = 0;
  virtual Status put_node_state(const NodeState& state) = 0;
  virtual Result<std::vector<NodeState>> node_states() = 0;
  virtual Result<std::vector<NodeState>> node_history(const std::string& node) = 0;
  virtual Status put_incident(const Incident& incident) = 0;
  virtual Result<std::vector<Incident>> incidents(const Page& page) = 0;  // newest first

  /// Returns its number.
  virtual Result<std::int64_t> put_request(const PersonRequest& request) = 0;
  virtual Result<std::vector<PersonRequest>> open_requests() = 0;
  /// The newest `limit`, oldest first.
  virtual Result<std::vector<PersonRequest>> requests(const Page& page) = 0;
  virtual Status answer_request(std::int64_t number, const PersonAnswer& answer) = 0;
  virtual Result<std::optional<PersonRequest>> request(std::int64_t number) = 0;

  /// Small named values: "scheduler.nodes" (JSON), "scheduler.nodes_seen_at", "dry_run." d-...
  virtual Status put_value(const std::string& name, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> value(const std::string& name) = 0;

  /// Deletes what is older than `keep`, in one transaction. Of the records stay those that are not
  /// over: attempts that run, acts without a final outcome, what concerns a node that is out of
  /// service, and whatever led to what stays. Returns how many events went.
  virtual Result<std::uint64_t> retain(Instant now, const Retention& keep) = 0;
  /// A consistent copy while in use.
  virtual Status backup(const std::filesystem::path& to) = 0;
};

}  // namespace faultline
