#include "store/sqlite_store.h"

#include "store/rows.h"

namespace faultline {

using sqlite::ns;
using sqlite::read_all;
using sqlite::read_one;

Result<std::vector<Event>> SqliteStore::append_events(const std::vector<Event>& events) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  std::vector<Event> fresh;
  for (const auto& event : events) {
    FAULTLINE_SQL(
        insert,
        "INSERT OR IGNORE INTO events (id, received_at, job, restart, body) VALUES (?,?,?,?,?)");
    insert.bind(event.id).bind(ns(event.received_at));
    insert.bind(event.attempt ? event.attempt->job : std::string{});
    insert.bind(std::int64_t{event.attempt ? event.attempt->restart : 0})
        .bind(dump(to_json(event)));
    FAULTLINE_TRY(insert.run());
    if (database_->changes() > 0) fresh.push_back(event);
  }
  FAULTLINE_TRY(transaction.value().commit());
  return fresh;
}

Result<std::optional<Event>> SqliteStore::event(const EventId& id) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM events WHERE id = ?");
  select.bind(id);
  return read_one<Event>(std::move(select), event_from_json);
}

Result<std::vector<Event>> SqliteStore::events(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body FROM (SELECT row, body FROM events WHERE received_at >= ? ORDER BY "
                "row DESC LIMIT ?) ORDER BY row");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_all<Event>(std::move(select), event_from_json);
}

Result<std::vector<Event>> SqliteStore::events_of_attempt(const AttemptId& attempt,
                                                          const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body FROM events WHERE job = ? AND restart = ? AND received_at >= ? ORDER "
                "BY row LIMIT ?");
  select.bind(attempt.job).bind(std::int64_t{attempt.restart}).bind(ns(page.since));
  select.bind(static_cast<std::int64_t>(page.limit));
  return read_all<Event>(std::move(select), event_from_json);
}

Status SqliteStore::put_verdict(const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  const std::string body = dump(to_json(verdict));
  FAULTLINE_SQL(put, "INSERT OR REPLACE INTO verdicts (id, updated_at, body) VALUES (?,?,?)");
  FAULTLINE_TRY(put.bind(verdict.id).bind(ns(verdict.updated_at)).bind(body).run());
  for (const auto* ids : {&verdict.evidence, &verdict.consequences}) {
    for (const auto& event : *ids) {
      FAULTLINE_SQL(link, "INSERT OR IGNORE INTO evidence (event, verdict) VALUES (?,?)");
      FAULTLINE_TRY(link.bind(event).bind(verdict.id).run());
    }
  }
  FAULTLINE_TRY(remember("verdict", verdict.id, verdict.updated_at, body));
  return transaction.value().commit();
}

Result<std::optional<Verdict>> SqliteStore::verdict(const VerdictId& id) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM verdicts WHERE id = ?");
  select.bind(id);
  return read_one<Verdict>(std::move(select), verdict_from_json);
}

Result<std::vector<Verdict>> SqliteStore::verdicts(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(
      select,
      "SELECT body FROM verdicts WHERE updated_at >= ? ORDER BY updated_at DESC, id LIMIT ?");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_all<Verdict>(std::move(select), verdict_from_json);
}

Result<std::vector<Verdict>> SqliteStore::verdict_history(const VerdictId& id) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM history WHERE noun = 'verdict' AND id = ? ORDER BY row");
  select.bind(id);
  return read_all<Verdict>(std::move(select), verdict_from_json);
}

Status SqliteStore::put_decision(const Decision& decision) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  const std::string body = dump(to_json(decision));
  FAULTLINE_SQL(
      put, "INSERT OR REPLACE INTO decisions (id, verdict, decided_at, body) VALUES (?,?,?,?)");
  FAULTLINE_TRY(
      put.bind(decision.id).bind(decision.verdict).bind(ns(decision.decided_at)).bind(body).run());
  FAULTLINE_TRY(remember("decision", decision.id, decision.decided_at, body));
  return transaction.value().commit();
}

Result<std::optional<Decision>> SqliteStore::decision(const DecisionId& id) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM decisions WHERE id = ?");
  select.bind(id);
  return read_one<Decision>(std::move(select), decision_from_json);
}

Result<std::vector<Decision>> SqliteStore::decisions(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(
      select,
      "SELECT body FROM decisions WHERE decided_at >= ? ORDER BY decided_at DESC, id LIMIT ?");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_all<Decision>(std::move(select), decision_from_json);
}

Result<std::vector<Decision>> SqliteStore::decisions_of_verdict(const VerdictId& verdict) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM decisions WHERE verdict = ? ORDER BY decided_at, id");
  select.bind(verdict);
  return read_all<Decision>(std::move(select), decision_from_json);
}

Status SqliteStore::record_intent(const Action& action, Instant now) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(insert, "INSERT INTO actions (id, intended_at, body) VALUES (?,?,?)");
  return insert.bind(action.id).bind(ns(now)).bind(dump(to_json(action))).run();
}

Status SqliteStore::record_outcome(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  const bool settled = outcome.status == OutcomeStatus::done ||
                       (outcome.status == OutcomeStatus::failed && !outcome.retryable);
  // A node test that is unknown stays so: nobody could be asked.
  const bool no_result = outcome.status == OutcomeStatus::unknown && !outcome.retryable;
  const std::string body = dump(to_json(outcome));
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  FAULTLINE_SQL(
      update,
      "UPDATE actions SET outcome = ?, settled = ? OR (? AND json_extract(body, '$.kind') "
      "= 'test_node') WHERE id = ? AND settled = 0");
  FAULTLINE_TRY(update.bind(body)
                    .bind(std::int64_t{settled ? 1 : 0})
                    .bind(std::int64_t{no_result ? 1 : 0})
                    .bind(outcome.action)
                    .run());
  if (database_->changes() == 0)
    return Error{ErrorCode::conflict, outcome.action + " has no open intent"};
  FAULTLINE_TRY(remember("outcome", outcome.action, outcome.at, body));
  return transaction.value().commit();
}

Status SqliteStore::reopen_action(const ActionId& id, Instant now) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  FAULTLINE_SQL(update,
                "UPDATE actions SET settled = 0, outcome = '', intended_at = ? WHERE id = ? AND "
                "settled = 1 AND json_extract(outcome, '$.status') = 'done'");
  FAULTLINE_TRY(update.bind(ns(now)).bind(id).run());
  if (database_->changes() == 0) return Error{ErrorCode::conflict, id + " is not done"};
  FAULTLINE_TRY(remember("outcome", id, now, "{\"status\":\"undone\"}"));
  return transaction.value().commit();
}

Result<std::vector<Action>> SqliteStore::open_intents() {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM actions WHERE settled = 0 ORDER BY intended_at, id");
  return read_all<Action>(std::move(select), action_from_json);
}

namespace {

Result<std::vector<ActionRecord>> read_actions(sqlite::Statement statement) {
  std::vector<ActionRecord> records;
  while (true) {
    const auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return records;
    auto action = sqlite::decode_body<Action>(statement.text(0), action_from_json);
    if (!action) return statement.damaged_row(action.error());
    ActionRecord record{std::move(action).value(), Instant{Duration{statement.integer(1)}}, {}};
    if (const std::string body = statement.text(2); !body.empty()) {
      auto outcome = sqlite::decode_body<Outcome>(body, outcome_from_json);
      if (!outcome) return statement.damaged_row(outcome.error());
      record.outcome = std::move(outcome).value();
    }
    records.push_back(std::move(record));
  }
}

}  // namespace

Result<std::optional<ActionRecord>> SqliteStore::action(const ActionId& id) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body, intended_at, outcome FROM actions WHERE id = ?");
  select.bind(id);
  auto records = read_actions(std::move(select));
  if (!records) return records.error();
  if (records->empty()) return std::optional<ActionRecord>{};
  return std::optional(std::move(records.value().front()));
}

Result<std::vector<ActionRecord>> SqliteStore::actions(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body, intended_at, outcome FROM actions WHERE intended_at >= ? ORDER BY "
                "intended_at DESC, id LIMIT ?");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_actions(std::move(select));
}

Status SqliteStore::remember(std::string_view noun, std::string_view id, Instant at,
                             std::string_view body) {
  FAULTLINE_SQL(insert, "INSERT INTO history (noun, id, at, body) VALUES (?,?,?,?)");
  return insert.bind(noun).bind(id).bind(ns(at)).bind(body).run();
}

}  // namespace faultline
