// What the store lets go of, and when: an act with its age, then what led to it if nothing else
// stands on it, down to the events.
#include "store/rows.h"
#include "store/sqlite_store.h"

namespace faultline {
namespace {

/// True in SQL of a row whose subject, at `path` in its body, is or lies on a node that is out of
/// service. A subject's text is "node:n3", "gpu:n3/0000:3b:00.0" or "rank:7#0/2@n3".
std::string on_node_out_of_service(const std::string& path) {
  const std::string subject = "json_extract(body, '" + path + "')";
  return "EXISTS (SELECT 1 FROM out_of_service AS o WHERE " + subject + " = 'node:' || o.node OR " +
         "substr(" + subject + ", instr(" + subject +
         ", ':') + 1, length(o.node) + 1) = o.node || " + "'/' OR " + subject +
         " LIKE '%@' || o.node)";
}

}  // namespace

Status SqliteStore::forget_records(Instant before) {
  const std::string old = " < " + std::to_string(sqlite::ns(before));
  const std::string script =
      "DELETE FROM attempts WHERE ended_at" + old +
      "; DELETE FROM requests WHERE answer <> '' AND at" + old +
      "; DELETE FROM incidents WHERE opened_at" + old +
      "; DELETE FROM actions WHERE settled = 1 AND intended_at" + old +
      " AND id NOT IN (SELECT action FROM out_of_service) AND NOT " +
      on_node_out_of_service("$.subject") + "; DELETE FROM decisions WHERE decided_at" + old +
      " AND id NOT IN (SELECT json_extract(body, '$.decision') FROM actions) AND NOT " +
      on_node_out_of_service("$.action.subject") +
      "; DELETE FROM named_values WHERE name GLOB 'dry_run.*' AND substr(name, 9) NOT IN (SELECT "
      "id FROM decisions); DELETE FROM verdicts WHERE updated_at" +
      old +
      " AND id NOT IN (SELECT verdict FROM decisions) AND id NOT IN (SELECT verdict FROM "
      "out_of_service) AND NOT " +
      on_node_out_of_service("$.subject");
  FAULTLINE_TRY(database_->execute(script));
  if (database_->changes() == 0) return ok_status();
  return database_->execute("DELETE FROM evidence WHERE verdict NOT IN (SELECT id FROM verdicts)");
}

Result<std::uint64_t> SqliteStore::retain(Instant now, const Retention& keep) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  FAULTLINE_SQL(forget, "DELETE FROM history WHERE at < ?");
  FAULTLINE_TRY(forget.bind(sqlite::ns(now - keep.events)).run());
  FAULTLINE_TRY(forget_records(now - keep.records));
  FAULTLINE_SQL(remove,
                "DELETE FROM events WHERE received_at < ? AND NOT EXISTS (SELECT 1 FROM evidence "
                "WHERE event = events.id)");
  FAULTLINE_TRY(remove.bind(sqlite::ns(now - keep.events)).run());
  const auto events = static_cast<std::uint64_t>(database_->changes());
  FAULTLINE_TRY(transaction.value().commit());
  return events;
}

}  // namespace faultline
