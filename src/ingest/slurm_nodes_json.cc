#include "ingest/slurm_nodes_json.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "ingest/json_elements.h"
#include "ingest/json_values.h"
#include "ingest/scheduler_events.h"
#include "ingest/scheduler_remarks.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace faultline {
namespace {

using Json = nlohmann::json;

class NodesJson {
 public:
  NodesJson(const Origin& origin, Counters& counters,
            std::shared_ptr<const SignatureDatabase> signatures)
      : remarks_(std::move(signatures), origin, counters) {}

  /// An entry of "nodes": one node. False if it is none.
  bool take_node(const Json& json, RawLine raw) {
    SchedulerNode node;
    node.name = json_text(json_field(json, "name"));
    std::vector<std::string> words;
    append_json_words(json_field(json, "state"), words);
    append_json_words(json_field(json, "state_flags"), words);
    apply_slurm_node_words(words, node);
    node.drain_reason = printable(json_text(json_field(json, "reason")), 512);
    node.drain_owner = printable(json_text(json_field(json, "reason_set_by_user")), 64);
    node.boot_time = json_instant(json_field(json, "boot_time"));
    return give(node, json_instant(json_field(json, "reason_changed_at")), std::move(raw));
  }

  /// An entry of "sinfo": nodes that are alike. False if it names none.
  bool take_alike(const Json& json, const RawLine& raw) {
    const Json& reason = json_field(json, "reason");
    SchedulerNode node;
    std::vector<std::string> words;
    append_json_words(json_field(json_field(json, "node"), "state"), words);
    apply_slurm_node_words(words, node);
    node.drain_reason = printable(json_text(json_field(reason, "description")), 512);
    node.drain_owner = printable(json_text(json_field(reason, "user")), 64);
    bool any = false;
    for (auto& name : json_list(json_field(json_field(json, "nodes"), "nodes"))) {
      node.name = std::move(name);
      any = give(node, json_instant(json_field(reason, "time")), raw) || any;
    }
    return any;
  }

  std::vector<Event> events() { return std::move(events_); }

 private:
  bool give(const SchedulerNode& node, Instant since, RawLine raw) {
    if (!valid_node_name(node.name) || node.state_text.empty()) return false;
    Event seen = as_told(node_event(node, false, since), std::move(raw));
    auto known = remarks_.of_reason(seen);
    events_.push_back(std::move(seen));
    std::move(known.begin(), known.end(), std::back_inserter(events_));
    return true;
  }

  SchedulerRemarks remarks_;
  std::vector<Event> events_;
};

}  // namespace

Result<std::vector<Event>> decode_slurm_nodes_json(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures) {
  NodesJson nodes(origin, counters, std::move(signatures));
  std::size_t taken = 0;
  JsonElementCounts counts;
  for (const bool alike : {false, true}) {
    if (taken > 0) break;
    counts =
        visit_json_elements(document, alike ? "sinfo" : "nodes",
                            [&](const Json& json, std::uint64_t offset, std::string_view bytes) {
                              RawLine raw{origin.path, offset, {}, one_line(bytes)};
                              const bool good = alike ? nodes.take_alike(json, raw)
                                                      : nodes.take_node(json, std::move(raw));
                              taken += good ? 1 : 0;
                            });
  }
  counters.add("slurm_records_bad_total", counts.records - taken + counts.left_out);
  if (counts.cut) counters.add("scheduler_documents_cut_total");
  if (taken == 0)
    return Error{ErrorCode::corrupt, "no node in this JSON; run: scontrol show node --json"};
  return nodes.events();
}

}  // namespace faultline
