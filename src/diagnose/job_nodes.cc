#include "diagnose/job_nodes.h"

#include <array>
#include <utility>

#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t nodes_max = 65536;

/// "n[1-2]" of "=n[1-2]" and "='n[1-2]'"; "" for a script's "=$nodes".
std::string_view value_at(std::string_view text) {
  if (!text.starts_with('=')) return {};
  text.remove_prefix(1);
  if (text.starts_with('"') || text.starts_with('\'')) text.remove_prefix(1);
  constexpr std::string_view of_lists =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,[]";
  return text.substr(0, text.find_first_not_of(of_lists));
}

/// The variable's name ends a longer one: "MY_SLURM_NODELIST".
bool is_within_word(std::string_view text, std::size_t at) {
  constexpr std::string_view before = "\n \t'\"";
  return at > 0 && before.find(text[at - 1]) == std::string_view::npos;
}

}  // namespace

std::vector<std::string> nodes_printed_by_job(std::string_view text) {
  static constexpr std::array<std::string_view, 2> names = {"SLURM_JOB_NODELIST", "SLURM_NODELIST"};
  std::vector<std::string> nodes;
  for (const std::string_view name : names) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      if (is_within_word(text, at)) continue;
      auto told = expand_hostlist(value_at(text.substr(at + name.size())), nodes_max);
      if (!told || told->empty()) continue;
      if (!nodes.empty() && *told != nodes) return {};
      nodes = std::move(told).value();
    }
  }
  return nodes;
}

}  // namespace faultline
