// The half of SqliteStore that is not on the flow's arrows: attempts, node states, incidents,
// requests, upkeep.
#include "store/rows.h"
#include "store/sqlite_store.h"

namespace faultline {

using sqlite::ns;
using sqlite::read_all;

namespace {

/// A run that has not ended is alive at any time.
Instant end_of(const Attempt& attempt) {
  if (!ended(attempt.state)) return Instant::max();
  return known(attempt.ended_at) ? attempt.ended_at : attempt.started_at;
}

}  // namespace

Status SqliteStore::put_attempt(const Attempt& attempt) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(
      put,
      "INSERT INTO attempts (job, restart, started_at, ended_at, body) VALUES (?,?,?,?,?) "
      "ON CONFLICT (job, restart) DO UPDATE SET started_at = excluded.started_at, "
      "ended_at = excluded.ended_at, body = json_set(excluded.body, '$.excluded_nodes', "
      "json(json_extract(attempts.body, '$.excluded_nodes')))");
  put.bind(attempt.id.job).bind(std::int64_t{attempt.id.restart}).bind(ns(attempt.started_at));
  put.bind(ns(end_of(attempt)));
  return put.bind(dump(to_json(attempt))).run();
}

Result<std::vector<Attempt>> SqliteStore::attempts(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body FROM attempts WHERE started_at >= ? ORDER BY started_at DESC, job, "
                "restart DESC LIMIT ?");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_all<Attempt>(std::move(select), attempt_from_json);
}

Result<std::vector<Attempt>> SqliteStore::attempts_alive_since(Instant since, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body FROM attempts WHERE ended_at >= ? ORDER BY started_at DESC, job, "
                "restart DESC LIMIT ?");
  select.bind(ns(since)).bind(static_cast<std::int64_t>(limit));
  return read_all<Attempt>(std::move(select), attempt_from_json);
}

Status SqliteStore::put_node_state(const NodeState& state) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  const std::string body = dump(to_json(state));
  FAULTLINE_SQL(put, "INSERT OR REPLACE INTO node_states (node, body) VALUES (?,?)");
  FAULTLINE_TRY(put.bind(state.node).bind(body).run());
  FAULTLINE_TRY(remember("node_state", state.node, state.since, body));
  return transaction.value().commit();
}

Result<std::vector<NodeState>> SqliteStore::node_states() {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT body FROM node_states ORDER BY node");
  return read_all<NodeState>(std::move(select), node_state_from_json);
}

Result<std::vector<NodeState>> SqliteStore::node_history(const std::string& node) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT body FROM history WHERE noun = 'node_state' AND id = ? ORDER BY row");
  select.bind(node);
  return read_all<NodeState>(std::move(select), node_state_from_json);
}

Status SqliteStore::put_incident(const Incident& incident) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(put, "INSERT OR REPLACE INTO incidents (id, opened_at, body) VALUES (?,?,?)");
  return put.bind(incident.id).bind(ns(incident.opened_at)).bind(dump(to_json(incident))).run();
}

Result<std::vector<Incident>> SqliteStore::incidents(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(
      select,
      "SELECT body FROM incidents WHERE opened_at >= ? ORDER BY opened_at DESC, id LIMIT ?");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_all<Incident>(std::move(select), incident_from_json);
}

Result<std::int64_t> SqliteStore::put_request(const PersonRequest& request) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(insert,
                "INSERT INTO requests (request, target, who, at, answer) VALUES (?,?,?,?,?)");
  insert.bind(request.kind ? std::string(to_text(*request.kind)) : std::string())
      .bind(request.target)
      .bind(request.who)
      .bind(ns(request.at))
      .bind(to_text(request.answer));
  FAULTLINE_TRY(insert.run());
  return database_->last_row();
}

Result<std::vector<PersonRequest>> SqliteStore::read_requests(sqlite::Statement statement) {
  std::vector<PersonRequest> requests;
  while (true) {
    const auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return requests;
    requests.push_back({statement.integer(0), parse_enum<RequestKind>(statement.text(1)),
                        statement.text(2), statement.text(3),
                        Instant{Duration{statement.integer(4)}}, parse_answer(statement.text(5))});
  }
}

Result<std::vector<PersonRequest>> SqliteStore::open_requests() {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT number, request, target, who, at, answer FROM requests WHERE answer = '' "
                "ORDER BY number");
  return read_requests(std::move(select));
}

Result<std::vector<PersonRequest>> SqliteStore::requests(const Page& page) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(
      select,
      "SELECT * FROM (SELECT number, request, target, who, at, answer FROM requests WHERE "
      "at >= ? ORDER BY number DESC LIMIT ?) ORDER BY number");
  select.bind(ns(page.since)).bind(static_cast<std::int64_t>(page.limit));
  return read_requests(std::move(select));
}

Status SqliteStore::answer_request(std::int64_t number, const PersonAnswer& answer) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(update, "UPDATE requests SET answer = ? WHERE number = ?");
  return update.bind(to_text(answer)).bind(number).run();
}

Result<std::optional<PersonRequest>> SqliteStore::request(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select,
                "SELECT number, request, target, who, at, answer FROM requests WHERE number = ?");
  select.bind(number);
  auto requests = read_requests(std::move(select));
  if (!requests) return requests.error();
  if (requests->empty()) return std::optional<PersonRequest>{};
  return std::optional(requests->front());
}

Status SqliteStore::put_value(const std::string& name, const std::string& value) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(put, "INSERT OR REPLACE INTO named_values (name, value) VALUES (?,?)");
  return put.bind(name).bind(value).run();
}

Result<std::optional<std::string>> SqliteStore::value(const std::string& name) {
  const std::lock_guard lock(mutex_);
  FAULTLINE_SQL(select, "SELECT value FROM named_values WHERE name = ?");
  select.bind(name);
  const auto row = select.step();
  if (!row) return row.error();
  return *row ? std::optional(select.text(0)) : std::nullopt;
}

Status SqliteStore::backup(const std::filesystem::path& to) {
  const std::lock_guard lock(mutex_);
  return database_->copy_to(to);
}

}  // namespace faultline
