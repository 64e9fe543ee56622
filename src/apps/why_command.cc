#include "apps/why_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/catalog_path.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "base/text.h"
#include "model/json.h"
#include "model/names.h"
#include "store/dry_run.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t lookup_max = 2000;

/// What people ask about by a name: "n3", or a subject as a SUBJECT column shows it, "node:n3".
struct Asked {
  std::string name;                // of an event, node, job or attempt; "" if it is none of these
  std::optional<Subject> subject;  // what the text means as a subject
};

Asked parse_asked(const std::string& text) {
  auto subject = Subject::parse(text);
  if (!subject) return {text, {}};
  switch (subject->kind) {
    case SubjectKind::node: return {subject->node, subject};
    case SubjectKind::job: return {subject->attempt.job, subject};
    case SubjectKind::attempt: return {subject->attempt.text(), subject};
    case SubjectKind::gpu: subject->part = canonical_pci(subject->part); return {{}, subject};
    default: return {{}, subject};
  }
}

/// What can be asked about: "why" of anything else is a slip, and would be found nowhere.
bool is_name(const std::string& text) {
  return Subject::parse(text) || AttemptId::parse(text) || valid_node_name(text) ||
         valid_job_id(text);
}

bool concerns(const Decision& decision, const Asked& asked) {
  const auto& action = decision.action;
  if (asked.subject && action.subject == *asked.subject) return true;
  const std::string& name = asked.name;
  if (name.empty()) return false;
  return action.subject.node == name || action.subject.attempt.job == name ||
         (action.attempt && action.attempt->text() == name);
}

bool concerns(const Verdict& verdict, const Asked& asked) {
  if (asked.subject && verdict.subject == *asked.subject) return true;
  const std::string& name = asked.name;
  if (name.empty()) return false;
  const bool rests =
      std::find(verdict.evidence.begin(), verdict.evidence.end(), name) != verdict.evidence.end();
  return rests || verdict.subject.node == name || verdict.subject.attempt.job == name ||
         (verdict.attempt && (verdict.attempt->job == name || verdict.attempt->text() == name));
}

/// The verdicts that explain `id`: an action, decision, verdict, incident, event, node or job.
class Chain {
 public:
  explicit Chain(Store& store) : store_(store) {}

  Result<std::vector<VerdictId>> verdicts_behind(const std::string& id) {
    if (id.starts_with("v-")) return std::vector<VerdictId>{id};
    if (id.starts_with("a-")) return of_action(id);
    if (id.starts_with("d-")) return of_decision(id);
    if (id.starts_with("i-")) return of_incident(id);
    return of_subject(id);
  }

 private:
  Result<std::vector<VerdictId>> of_action(const std::string& id) {
    const auto record = store_.action(id);
    if (!record) return record.error();
    if (*record) return of_decision((*record)->action.decision);
    // An act that was only decided (held, or a dry run) has no intent on record.
    const auto decisions = store_.decisions({lookup_max, {}});
    if (!decisions) return decisions.error();
    for (const auto& decision : *decisions) {
      if (decision.action.id == id) return std::vector<VerdictId>{decision.verdict};
    }
    return std::vector<VerdictId>{};
  }
  Result<std::vector<VerdictId>> of_decision(const std::string& id) {
    const auto decision = store_.decision(id);
    if (!decision) return decision.error();
    if (!*decision) return std::vector<VerdictId>{};
    return std::vector<VerdictId>{(*decision)->verdict};
  }
  Result<std::vector<VerdictId>> of_incident(const std::string& id) {
    const auto incidents = store_.incidents({lookup_max, {}});
    if (!incidents) return incidents.error();
    for (const auto& incident : *incidents) {
      if (incident.id == id) return incident.verdicts;
    }
    return std::vector<VerdictId>{};
  }
  /// An event, a subject, or the name of a node or job: every verdict that rests on it, is about it
  /// or led to an act on it, newest first.
  Result<std::vector<VerdictId>> of_subject(const std::string& text) {
    const auto verdicts = store_.verdicts({lookup_max, {}});
    if (!verdicts) return verdicts.error();
    const auto decisions = store_.decisions({lookup_max, {}});
    if (!decisions) return decisions.error();
    const Asked asked = parse_asked(text);
    std::set<VerdictId> acted_on;
    for (const auto& decision : *decisions) {
      if (concerns(decision, asked)) acted_on.insert(decision.verdict);
    }
    std::vector<VerdictId> found;
    for (const auto& verdict : *verdicts) {
      if (concerns(verdict, asked) || acted_on.contains(verdict.id)) found.push_back(verdict.id);
    }
    return found;
  }

  Store& store_;
};

void add_event(Store& store, const EventId& id, std::string_view role, std::string& text,
               json& list) {
  const auto event = store.event(id);
  if (!event || !*event) {
    text += "  " + std::string(role) + " " + id + " (not kept any more)\n";
    return;
  }
  list.push_back(to_json(**event));
  text += event_lines(**event, role);
}

void add_decision(Store& store, const Decision& decision, std::string& text, json& list) {
  const auto record = store.action(decision.action.id);
  json item = to_json(decision);
  text += "action   " + decision.action.id + "  " + std::string(to_text(decision.action.kind)) +
          " " + decision.action.subject.text();
  if (record && *record && (*record)->outcome) {
    const Outcome& outcome = *(*record)->outcome;
    text += "  " + std::string(to_text(outcome.status)) + " " + to_text(outcome.at) + ": " +
            outcome.detail;
    for (const auto& command : outcome.commands) text += "\n           $ " + command;
    item["outcome"] = to_json(outcome);
  } else if (const auto dry_run = dry_run_of(store, decision); dry_run && *dry_run) {
    text += "  " + (*dry_run)->detail;
    for (const auto& command : (*dry_run)->commands) text += "\n           $ " + command;
    item["dry_run"] = to_json(**dry_run);
  }
  text += "\ndecision " + decision.id + "  " + std::string(to_text(decision.ruling)) + " (" +
          std::string(to_text(decision.reason)) + ") by guard " + decision.guard + " at " +
          to_text(decision.decided_at) + ", mode " + std::string(to_text(decision.mode)) +
          "\n           " + decision.detail + "\n";
  list.push_back(std::move(item));
}

void add_verdict(const Catalog* catalog, const Verdict& verdict, std::string& text) {
  text += "verdict  " + verdict.id + "  " + verdict.cause + " on " + verdict.subject.text() + "  " +
          std::string(to_text(verdict.status)) + " " +
          std::to_string(static_cast<int>(verdict.confidence * 100)) + "%  by " + verdict.detector +
          ", since " + to_text(verdict.since) + "\n";
  const Cause* cause = catalog != nullptr ? catalog->cause(verdict.cause) : nullptr;
  if (cause != nullptr) text += "           " + cause->summary + "\n";
  if (!verdict.explanation.empty()) text += "           " + verdict.explanation + "\n";
  if (cause != nullptr && !cause->next_step.empty())
    text += "           do: " + cause->next_step + "\n";
  for (const auto& missing : verdict.missing) text += "           missing: " + missing + "\n";
}

Status explain(Store& store, const Catalog* catalog, const VerdictId& id, std::string& text,
               json& out) {
  const auto verdict = store.verdict(id);
  if (!verdict) return verdict.error();
  if (!*verdict) return ok_status();
  const auto decisions = store.decisions_of_verdict(id);
  if (!decisions) return decisions.error();
  json item = {{"verdict", to_json(**verdict)}};
  json& decision_list = item["decisions"] = json::array();
  json& event_list = item["events"] = json::array();
  for (const auto& decision : *decisions) add_decision(store, decision, text, decision_list);
  add_verdict(catalog, **verdict, text);
  for (const auto& event : (*verdict)->evidence)
    add_event(store, event, "evidence   ", text, event_list);
  for (const auto& event : (*verdict)->consequences)
    add_event(store, event, "consequence", text, event_list);
  text += "\n";
  out.push_back(std::move(item));
  return ok_status();
}

/// Of a node that is known and was never spoken of: its state, which is all that there is to say.
std::optional<std::string> quiet_node(Store& store, const std::string& id) {
  const std::string name = parse_asked(id).name;
  const auto nodes = scheduler_nodes(store);
  if (!nodes) return std::nullopt;
  for (const auto& node : *nodes) {
    if (node.name != name) continue;
    return name + " is known to the scheduler (" + node.state_text +
           "); nothing was concluded about it and nothing done\n";
  }
  return std::nullopt;
}

}  // namespace

std::string event_lines(const Event& event, std::string_view role) {
  std::string text =
      "  " + std::string(role) + " " + event.id + "  " + to_text(event.observed_at) + "  " +
      std::string(to_text(event.source)) + "  " + event.subject.text() + "  " +
      (event.signature.empty() ? std::string(to_text(event.kind)) : event.signature) + "\n";
  for (const char* name : {"gpu_uuid", "gpu_serial"}) {
    if (!event.field(name).empty())
      text += "      " + std::string(name) + " " + std::string(event.field(name)) + "\n";
  }
  if (!event.raw.text.empty()) {
    text += "      " + event.raw.path + " @" + std::to_string(event.raw.offset) + ": " +
            printable(event.raw.text, raw_text_bytes_max) + "\n";
  } else if (!event.fields.empty()) {
    std::string fields;
    for (const auto& [name, value] : event.fields) {
      if (!value.empty()) fields += " " + name + "=" + printable(value, 200);
    }
    text += "     " + fields + "\n";
  }
  return text;
}

void add_why_command(CLI::App& app, QueryOptions& options) {
  CLI::App* command =
      app.add_subcommand("why", "Why something was done or concluded, down to the raw lines");
  add_store_options(*command, options);
  command->add_option("--catalog", options.catalog, catalog_help)->check(folder_path());
  command
      ->add_option("ID", options.id,
                   "An action (a-), decision (d-), verdict (v-), incident (i-) or event (e-) id, a "
                   "node, a job, or a subject as the tables show it (node:n3, gpu:n3/PCI, job:7)")
      ->required();
  command->footer(
      "Examples:\n  faultline why a-0f3c9e5b7a1d2c44\n  faultline why n3\n  faultline why "
      "gpu:n3/0000:3b:00.0");
}

int why_main(const QueryOptions& options) {
  if (!is_name(options.id)) {
    return fail({ErrorCode::invalid_argument,
                 "'" + printable(options.id, 100) +
                     "' is no id, node, job or subject; for instance a-0f3c9e5b7a1d2c44, n3, 7 or "
                     "gpu:n3/0000:3b:00.0"});
  }
  const auto store = open_to_ask(options.store);
  if (!store) return fail(store.error());
  const auto catalog =
      load_catalog(options.catalog);  // the chain is worth showing without its explanations
  const auto ids = Chain(**store).verdicts_behind(options.id);
  if (!ids) return fail(ids.error());
  std::string text;
  json out = json::array();
  for (const auto& id : *ids) {
    const auto explained = explain(**store, catalog ? &catalog.value() : nullptr, id, text, out);
    if (!explained) return fail(explained.error());
  }
  const auto quiet = out.empty() ? quiet_node(**store, options.id) : std::nullopt;
  if (quiet) text = *quiet;
  if (out.empty() && !quiet) {
    return fail({ErrorCode::not_found,
                 "nothing is known of '" + printable(options.id, 100) +
                     "': `faultline verdicts --all` and `faultline actions --all` list what is"});
  }
  if (options.json) {
    print(json{{"why", std::move(out)}});
  } else {
    print(text);
  }
  return exit_ok;
}

}  // namespace faultline
