#include "store/schema.h"

#include <array>

namespace faultline::sqlite {
namespace {

// Bodies are JSON of the nouns (model/json.h); columns exist only for what is searched or ordered
// by. Times are nanoseconds since 1970 on the controller's clock.
constexpr const char* version_1 = R"sql(
CREATE TABLE events (
  row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, received_at INTEGER NOT NULL,
  job TEXT NOT NULL, restart INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX events_received ON events (received_at);
CREATE INDEX events_attempt ON events (job, restart) WHERE job <> '';
CREATE TABLE verdicts (id TEXT PRIMARY KEY, updated_at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX verdicts_updated ON verdicts (updated_at);
CREATE TABLE evidence (event TEXT NOT NULL, verdict TEXT NOT NULL, PRIMARY KEY (event, verdict)) WITHOUT ROWID;
CREATE TABLE decisions (
  id TEXT PRIMARY KEY, verdict TEXT NOT NULL, decided_at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX decisions_decided ON decisions (decided_at);
CREATE INDEX decisions_verdict ON decisions (verdict);
CREATE TABLE actions (
  id TEXT PRIMARY KEY, intended_at INTEGER NOT NULL, body TEXT NOT NULL,
  settled INTEGER NOT NULL DEFAULT 0, outcome TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX actions_intended ON actions (intended_at);
CREATE INDEX actions_open ON actions (settled) WHERE settled = 0;
CREATE TABLE attempts (
  job TEXT NOT NULL, restart INTEGER NOT NULL, started_at INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (job, restart)) WITHOUT ROWID;
CREATE INDEX attempts_started ON attempts (started_at);
CREATE TABLE node_states (node TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE incidents (id TEXT PRIMARY KEY, opened_at INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX incidents_opened ON incidents (opened_at);
CREATE TABLE requests (
  number INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL, target TEXT NOT NULL, who TEXT NOT NULL,
  at INTEGER NOT NULL, answer TEXT NOT NULL DEFAULT '');
CREATE TABLE named_values (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE history (
  row INTEGER PRIMARY KEY AUTOINCREMENT, noun TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX history_id ON history (noun, id);
)sql";

// What was kept before its time was is as old as the migration: it goes with the rest, later.
constexpr const char* version_2 = R"sql(
ALTER TABLE history ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
UPDATE history SET at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000000;
CREATE INDEX history_at ON history (at);
)sql";

// A run that has not ended ends at the end of time: what ran at some time is looked for at each
// start, among years of runs. The id tells a store from other programs' databases; it spells
// "fltn".
constexpr const char* version_3 = R"sql(
ALTER TABLE attempts ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 9223372036854775807;
UPDATE attempts SET ended_at = max(started_at, json_extract(body, '$.ended_ns'))
  WHERE json_extract(body, '$.state') NOT IN ('pending', 'running', 'completing', 'unknown');
CREATE INDEX attempts_ended ON attempts (ended_at);
CREATE VIEW out_of_service AS
  SELECT node, json_extract(body, '$.verdict') AS verdict, json_extract(body, '$.action') AS action
  FROM node_states WHERE json_extract(body, '$.phase') <> 'in_service';
PRAGMA application_id = 0x666c746e;
)sql";
constexpr std::int64_t our_application_id = 0x666c746e;
constexpr std::int64_t first_version_with_id = 3;

constexpr std::array migrations = {version_1, version_2, version_3};

/// The one number that `sql` gives.
Result<std::int64_t> number_of(Database& database, const char* sql) {
  auto statement = database.prepare(sql);
  if (!statement) return statement.error();
  const auto row = statement.value().step();
  if (!row) return row.error();
  return statement->integer(0);
}

Result<std::int64_t> version_of(Database& database) {
  return number_of(database, "PRAGMA user_version");
}

/// A store from before there was an id has a version and these tables; a new one has nothing yet.
Result<bool> without_id_is_ours(Database& database) {
  const auto things = number_of(database, "SELECT count(*) FROM sqlite_master");
  if (!things) return things.error();
  const auto version = version_of(database);
  if (!version) return version.error();
  if (*things == 0) return *version == 0;
  const auto tables = number_of(database,
                                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name "
                                "IN ('events', 'node_states', 'named_values')");
  if (!tables) return tables.error();
  return *tables == 3 && *version > 0 && *version < first_version_with_id;
}

Status apply(Database& database, std::size_t version) {
  auto transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  FAULTLINE_TRY(database.execute(migrations[version]));
  FAULTLINE_TRY(database.execute("PRAGMA user_version = " + std::to_string(version + 1)));
  return transaction.value().commit();
}

}  // namespace

Status check_ours(Database& database) {
  const auto id = number_of(database, "PRAGMA application_id");
  if (!id) return id.error();
  if (*id == our_application_id) return ok_status();
  const auto ours = *id == 0 ? without_id_is_ours(database) : Result<bool>(false);
  if (!ours) return ours.error();
  if (*ours) return ok_status();
  return Error{ErrorCode::invalid_argument,
               "it is a database of another program, and was left as it is: --store names a file "
               "of faultline's own"};
}

Status check_version(Database& database) {
  const auto version = version_of(database);
  if (!version) return version.error();
  if (*version > static_cast<std::int64_t>(migrations.size())) {
    return Error{ErrorCode::unavailable, "the store has schema version " +
                                             std::to_string(*version) + ", this program knows " +
                                             std::to_string(migrations.size()) +
                                             ": upgrade faultline"};
  }
  return ok_status();
}

Status check_readable(Database& database) {
  FAULTLINE_TRY(check_version(database));
  const auto version = version_of(database);
  if (!version) return version.error();
  if (*version > 0) return ok_status();
  return Error{ErrorCode::not_found, "there is no store in it yet; `faultline serve` makes one"};
}

Status migrate(Database& database, const std::filesystem::path& file) {
  FAULTLINE_TRY(check_version(database));
  const auto version = version_of(database);
  if (!version) return version.error();
  const auto from = static_cast<std::size_t>(*version);
  if (from > 0 && from < migrations.size()) {
    FAULTLINE_TRY(
        database.copy_to(file.string() + ".before-v" + std::to_string(migrations.size())));
  }
  for (std::size_t next = from; next < migrations.size(); ++next)
    FAULTLINE_TRY(apply(database, next));
  return ok_status();
}

}  // namespace faultline::sqlite
