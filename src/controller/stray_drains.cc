#include "controller/stray_drains.h"

#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t names_max = 20;  // in a line of the log

/// "faultline:a-0123456789abcdef cause"
ActionId act_of(std::string_view reason) {
  reason.remove_prefix(reason.find(':') + 1);
  return std::string(reason.substr(0, reason.find(' ')));
}

std::string words_for(std::vector<std::string> nodes) {
  const std::size_t count = nodes.size();
  if (count > names_max) {
    nodes.resize(names_max);
    nodes.push_back("...");
  }
  return std::to_string(count) + (count == 1 ? " node is" : " nodes are") +
         " drained by faultline for an act that is not in this store: " + join(nodes, ", ") +
         ". This is another store than that of then (--store), or what was in it is lost: "
         "`faultline store check`, or put back a copy made by `faultline store backup`. "
         "Nothing more is done about them; `faultline return NODE` gives back one that is well";
}

}  // namespace

std::optional<std::string> StrayDrains::look(const ClusterView& view, Store& store) {
  std::vector<std::string> strays;
  std::map<std::string, std::string> drains;
  for (const auto& [name, node] : view.nodes) {
    if (!node.drained || !reason_is_ours(node.drain_reason)) continue;
    const auto before = looked_at_.find(name);
    if (before == looked_at_.end() || before->second != node.drain_reason) {
      const auto act = store.action(act_of(node.drain_reason));
      if (!act) continue;
      if (!*act) strays.push_back(name + " (" + printable(node.drain_reason, 100) + ")");
    }
    drains[name] = node.drain_reason;
  }
  looked_at_ = std::move(drains);
  if (strays.empty()) return std::nullopt;
  return words_for(std::move(strays));
}

}  // namespace faultline
