// The store on SQLite. Bodies are JSON of the nouns; a mutex serialises all calls.
#pragma once

#include <memory>
#include <mutex>

#include "store/sqlite.h"
#include "store/store.h"

namespace faultline {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::unique_ptr<sqlite::Database> database)
      : database_(std::move(database)) {}

  Result<std::vector<Event>> append_events(const std::vector<Event>& events) override;
  Result<std::optional<Event>> event(const EventId& id) override;
  Result<std::vector<Event>> events(const Page& page) override;
  Result<std::vector<Event>> events_of_attempt(const AttemptId& attempt, const Page& page) override;

  Status put_verdict(const Verdict& verdict) override;
  Result<std::optional<Verdict>> verdict(const VerdictId& id) override;
  Result<std::vector<Verdict>> verdicts(const Page& page) override;
  Result<std::vector<Verdict>> verdict_history(const VerdictId& id) override;

  Status put_decision(const Decision& decision) override;
  Result<std::optional<Decision>> decision(const DecisionId& id) override;
  Result<std::vector<Decision>> decisions(const Page& page) override;
  Result<std::vector<Decision>> decisions_of_verdict(const VerdictId& verdict) override;

  Status record_intent(const Action& action, Instant now) override;
  Status record_outcome(const Outcome& outcome) override;
  Status reopen_action(const ActionId& id, Instant now) override;
  Result<std::vector<Action>> open_intents() override;
  Result<std::optional<ActionRecord>> action(const ActionId& id) override;
  Result<std::vector<ActionRecord>> actions(const Page& page) override;

  Status put_attempt(const Attempt& attempt) override;
  Result<std::vector<Attempt>> attempts(const Page& page) override;
  Result<std::vector<Attempt>> attempts_alive_since(Instant since, std::size_t limit) override;
  Status put_node_state(const NodeState& state) override;
  Result<std::vector<NodeState>> node_states() override;
  Result<std::vector<NodeState>> node_history(const std::string& node) override;
  Status put_incident(const Incident& incident) override;
  Result<std::vector<Incident>> incidents(const Page& page) override;

  Result<std::int64_t> put_request(const PersonRequest& request) override;
  Result<std::vector<PersonRequest>> open_requests() override;
  Result<std::vector<PersonRequest>> requests(const Page& page) override;
  Status answer_request(std::int64_t number, const PersonAnswer& answer) override;
  Result<std::optional<PersonRequest>> request(std::int64_t number) override;

  Status put_value(const std::string& name, const std::string& value) override;
  Result<std::optional<std::string>> value(const std::string& name) override;

  Result<std::uint64_t> retain(Instant now, const Retention& keep) override;
  Status backup(const std::filesystem::path& to) override;

 private:
  /// Keeps an earlier or present state of a noun for the audit.
  Status remember(std::string_view noun, std::string_view id, Instant at, std::string_view body);
  Status forget_records(Instant before);
  Result<std::vector<PersonRequest>> read_requests(sqlite::Statement statement);

  std::unique_ptr<sqlite::Database> database_;
  std::mutex mutex_;
};

}  // namespace faultline
