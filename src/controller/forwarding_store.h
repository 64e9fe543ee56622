// A store that passes everything on; a test overrides what it watches or breaks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace faultline {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& store) : store_(store) {}
  Result<std::vector<Event>> append_events(const std::vector<Event>& e) override {
    return store_.append_events(e);
  }
  Result<std::optional<Event>> event(const EventId& i) override { return store_.event(i); }
  Result<std::vector<Event>> events(const Page& p) override { return store_.events(p); }
  Result<std::vector<Event>> events_of_attempt(const AttemptId& a, const Page& p) override {
    return store_.events_of_attempt(a, p);
  }
  Status put_verdict(const Verdict& v) override { return store_.put_verdict(v); }
  Result<std::optional<Verdict>> verdict(const VerdictId& i) override { return store_.verdict(i); }
  Result<std::vector<Verdict>> verdicts(const Page& p) override { return store_.verdicts(p); }
  Result<std::vector<Verdict>> verdict_history(const VerdictId& i) override {
    return store_.verdict_history(i);
  }
  Result<std::optional<Decision>> decision(const DecisionId& i) override {
    return store_.decision(i);
  }
  Result<std::vector<Decision>> decisions(const Page& p) override { return store_.decisions(p); }
  Result<std::vector<Decision>> decisions_of_verdict(const VerdictId& v) override {
    return store_.decisions_of_verdict(v);
  }
  Status reopen_action(const ActionId& i, Instant n) override { return store_.reopen_action(i, n); }
  Result<std::vector<Action>> open_intents() override { return store_.open_intents(); }
  Result<std::optional<ActionRecord>> action(const ActionId& i) override {
    return store_.action(i);
  }
  Result<std::vector<ActionRecord>> actions(const Page& p) override { return store_.actions(p); }
  Status put_attempt(const Attempt& a) override { return store_.put_attempt(a); }
  Result<std::vector<Attempt>> attempts(const Page& p) override { return store_.attempts(p); }
  Status put_node_state(const NodeState& s) override { return store_.put_node_state(s); }
  Result<std::vector<NodeState>> node_states() override { return store_.node_states(); }
  Result<std::vector<NodeState>> node_history(const std::string& n) override {
    return store_.node_history(n);
  }
  Status put_incident(const Incident& i) override { return store_.put_incident(i); }
  Result<std::vector<Incident>> incidents(const Page& p) override { return store_.incidents(p); }
  Result<std::int64_t> put_request(const PersonRequest& r) override {
    return store_.put_request(r);
  }
  Result<std::vector<PersonRequest>> open_requests() override { return store_.open_requests(); }
  Result<std::vector<PersonRequest>> requests(const Page& p) override { return store_.requests(p); }
  Status answer_request(std::int64_t n, const PersonAnswer& a) override {
    return store_.answer_request(n, a);
  }
  Result<std::optional<PersonRequest>> request(std::int64_t n) override {
    return store_.request(n);
  }
  Status put_value(const std::string& n, const std::string& v) override {
    return store_.put_value(n, v);
  }
  Result<std::optional<std::string>> value(const std::string& n) override {
    return store_.value(n);
  }
  Result<std::vector<Attempt>> attempts_alive_since(Instant t, std::size_t n) override {
    return store_.attempts_alive_since(t, n);
  }
  Result<std::uint64_t> retain(Instant n, const Retention& k) override {
    return store_.retain(n, k);
  }
  Status backup(const std::filesystem::path& t) override { return store_.backup(t); }

  Status put_decision(const Decision& d) override { return store_.put_decision(d); }
  Status record_intent(const Action& a, Instant n) override { return store_.record_intent(a, n); }
  Status record_outcome(const Outcome& o) override { return store_.record_outcome(o); }

 protected:
  Store& store_;
};

}  // namespace faultline
