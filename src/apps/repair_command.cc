#include "apps/repair_command.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/catalog_path.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "apps/why_command.h"
#include "base/text.h"
#include "model/json.h"
#include "model/names.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t acts_max = 2000;

/// A GPU as its vendor knows it. The address says which slot, the serial which board.
struct Board {
  std::string uuid, serial;
};

struct RepairRecord {
  NodeState state;
  Verdict verdict;
  std::vector<Event> evidence;
  std::size_t evidence_retired = 0;     // no longer kept
  std::map<std::string, Board> boards;  // by PCI address
  std::vector<ActionRecord> acts;       // on the node since the fault, oldest first
  std::vector<NodeState> notes;         // what people noted of this repair, oldest first
};

Error nothing_known(const std::string& node) {
  return {ErrorCode::not_found, "faultline has nothing on record against '" + printable(node, 100) +
                                    "'; `faultline nodes` shows which nodes are out of service"};
}

Result<NodeState> state_of(Store& store, const std::string& node) {
  const auto states = store.node_states();
  if (!states) return states.error();
  for (const auto& state : *states) {
    if (state.node == node && !state.verdict.empty()) return state;
  }
  return nothing_known(node);
}

void add_board(RepairRecord& record, const Event& event) {
  if (event.subject.kind != SubjectKind::gpu || event.subject.node != record.state.node) return;
  Board& board = record.boards[event.subject.part];
  if (const auto uuid = event.field("gpu_uuid"); !uuid.empty()) board.uuid = uuid;
  if (const auto serial = event.field("gpu_serial"); !serial.empty()) board.serial = serial;
}

Status add_evidence(Store& store, RepairRecord& record) {
  for (const auto& id : record.verdict.evidence) {
    const auto event = store.event(id);
    if (!event) return event.error();
    if (!*event) {
      ++record.evidence_retired;
      continue;
    }
    add_board(record, **event);
    record.evidence.push_back(**event);
  }
  return ok_status();
}

Status add_acts(Store& store, RepairRecord& record) {
  const auto acts = store.actions({acts_max, record.verdict.since});
  if (!acts) return acts.error();
  for (const auto& act : *acts) {
    const Subject& subject = act.action.subject;
    if (subject == Subject::of_node(record.state.node)) record.acts.push_back(act);
  }
  std::reverse(record.acts.begin(), record.acts.end());  // the store gives the newest first
  return ok_status();
}

/// The present state keeps the newest note alone, whoever wrote it; a person's is in the history.
Status add_notes(Store& store, RepairRecord& record) {
  const auto history = store.node_history(record.state.node);
  if (!history) return history.error();
  // The node has been there for longer than its history is kept.
  if (history->empty() && record.state.in_persons_repair() && !record.state.note.empty())
    record.notes.push_back(record.state);
  std::string before;
  for (const auto& state : *history) {
    const bool said = state.in_persons_repair() && state.note != before && !state.note.empty();
    if (said && state.verdict == record.state.verdict) record.notes.push_back(state);
    before = state.note;
  }
  return ok_status();
}

Result<RepairRecord> read_record(Store& store, const std::string& node) {
  RepairRecord record;
  auto state = state_of(store, node);
  if (!state) return state.error();
  record.state = std::move(state).value();
  const auto verdict = store.verdict(record.state.verdict);
  if (!verdict) return verdict.error();
  if (!*verdict) return nothing_known(node);
  record.verdict = **verdict;
  FAULTLINE_TRY(add_evidence(store, record));
  FAULTLINE_TRY(add_acts(store, record));
  FAULTLINE_TRY(add_notes(store, record));
  return record;
}

json json_of(const RepairRecord& record, const Cause* cause) {
  json gpus = json::array();
  for (const auto& [address, board] : record.boards)
    gpus.push_back({{"pci", address}, {"uuid", board.uuid}, {"serial", board.serial}});
  json evidence = json::array();
  for (const auto& event : record.evidence) evidence.push_back(to_json(event));
  json acts = json::array();
  for (const auto& act : record.acts) {
    acts.push_back({{"id", act.action.id},
                    {"kind", to_text(act.action.kind)},
                    {"intended_at", to_text(act.intended_at)},
                    {"outcome", act.outcome ? to_json(*act.outcome) : json(nullptr)}});
  }
  json notes = json::array();
  for (const auto& noted : record.notes)
    notes.push_back(
        {{"note", noted.note}, {"by", noted.by}, {"in_repair_since", to_text(noted.since)}});
  return {{"node", record.state.node},
          {"state", to_json(record.state)},
          {"notes", std::move(notes)},
          {"gpus", std::move(gpus)},
          {"cause",
           {{"id", record.verdict.cause},
            {"summary", cause != nullptr ? cause->summary : ""},
            {"next_step", cause != nullptr ? cause->next_step : ""}}},
          {"verdict", to_json(record.verdict)},
          {"evidence", std::move(evidence)},
          {"evidence_retired", record.evidence_retired},
          {"acts", std::move(acts)}};
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not known" : text; }

std::string text_of(const RepairRecord& record, const Cause* cause) {
  const Verdict& verdict = record.verdict;
  std::string text = "node     " + record.state.node + "  " +
                     std::string(to_text(record.state.phase)) + " since " +
                     to_text(record.state.since) + ", by " + record.state.by + "\n";
  if (!record.state.note.empty() && !record.state.in_persons_repair())
    text += "         " + record.state.note + "\n";
  for (const auto& noted : record.notes) {
    text += "note     " + noted.note + "  (in repair since " + to_text(noted.since) + ", by " +
            noted.by + ")\n";
  }
  for (const auto& [address, board] : record.boards) {
    text += "gpu      " + address + "  uuid " + or_unknown(board.uuid) + "  serial " +
            or_unknown(board.serial) + "\n";
  }
  text += "fault    " + verdict.cause + " on " + verdict.subject.text() + "  " +
          std::string(to_text(verdict.status)) + ", since " + to_text(verdict.since) + "\n";
  if (cause != nullptr) text += "         " + cause->summary + "\n";
  if (!verdict.explanation.empty()) text += "         " + verdict.explanation + "\n";
  for (const auto& event : record.evidence) text += event_lines(event, "evidence");
  if (record.evidence_retired > 0)
    text += "  " + std::to_string(record.evidence_retired) + " more that are not kept any more\n";
  for (const auto& act : record.acts) {
    text += "act      " + std::string(to_text(act.action.kind)) + "  " + to_text(act.intended_at) +
            "  " +
            (act.outcome ? std::string(to_text(act.outcome->status)) + ": " + act.outcome->detail
                         : std::string("on its way")) +
            "\n";
  }
  return text;
}

}  // namespace

void add_repair_command(CLI::App& app, QueryOptions& options) {
  CLI::App* command = app.add_subcommand(
      "repair-record",
      "What to send to the vendor of a broken node: part, fault, raw lines, tests");
  add_store_options(*command, options);
  command->add_option("--catalog", options.catalog, catalog_help)->check(folder_path());
  command->add_option("NODE", options.id, "As the scheduler spells it")->required();
  command->footer(
      "Examples:\n  faultline repair-record n3 > n3.txt\n  faultline repair-record n3 --json | jq "
      ".gpus");
}

int repair_main(const QueryOptions& options) {
  if (!valid_node_name(options.id)) {
    return fail({ErrorCode::invalid_argument,
                 "'" + printable(options.id, 100) +
                     "' is not a node name; give it as the scheduler spells it, for instance n3"});
  }
  const auto store = open_to_ask(options.store);
  if (!store) return fail(store.error());
  const auto record = read_record(**store, options.id);
  if (!record) return fail(record.error());
  const auto catalog = load_catalog(options.catalog);  // the record is worth having without it
  const Cause* cause = catalog ? catalog->cause(record->verdict.cause) : nullptr;
  if (options.json) {
    print(json_of(*record, cause));
  } else {
    print(text_of(*record, cause));
  }
  return exit_ok;
}

}  // namespace faultline
