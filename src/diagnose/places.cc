#include "diagnose/places.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "detect/node_pattern.h"
#include "detect/place_words.h"
#include "diagnose/file_decoder.h"
#include "diagnose/name_hint.h"
#include "diagnose/runs.h"

namespace faultline {
namespace {

std::string_view bare(std::string_view name) { return name.substr(0, name.find('.')); }

/// Files whose folder may be called after a machine, and nothing else names it: path -> name.
using FolderNames = std::map<std::string, std::string, std::less<>>;

FolderNames named_by_folder(const std::vector<ReadFile>& files) {
  FolderNames names;
  for (const ReadFile& read : files) {
    const NameHint hint = name_hint(read.file.name);
    if (hint.node_by_folder && read.file.prompt_host.empty())
      names.emplace(read.file.name, hint.node);
  }
  return names;
}

/// The machine that a line names itself, or a file by more than its folder; "" where none does.
std::string_view told_by(const Event& event, const FolderNames& folders) {
  if (const auto host = event.field("host"); !host.empty()) return host;
  const std::string& node = event.subject.node;
  if (node.empty() || node == unnamed_node) return {};
  const auto folder = folders.find(event.raw.path);
  return folder != folders.end() && folder->second == node ? std::string_view() : node;
}

/// What one machine's job has no more of: a higher rank ran elsewhere, and nobody says where.
constexpr std::int32_t ranks_of_machine_max = 8;

/// A job's lines may name one of several machines.
bool may_be_of_several(const Gathered& gathered) {
  return std::any_of(gathered.events.begin(), gathered.events.end(),
                     [](const Event& event) { return event.subject.rank >= ranks_of_machine_max; });
}

std::set<std::string> machines_told(const Gathered& gathered, const FolderNames& folders) {
  std::set<std::string> told;
  for (const Event& event : gathered.events) {
    if (const auto name = told_by(event, folders); !name.empty() && name != "localhost")
      told.emplace(bare(name));
  }
  for (const ReadFile& read : gathered.files) {
    for (const std::string& node : read.nodes) told.emplace(bare(node));
    if (!read.file.prompt_host.empty()) told.emplace(bare(read.file.prompt_host));
    const NameHint hint = name_hint(read.file.name);
    if (!hint.node.empty() && !hint.node_by_folder) told.emplace(bare(hint.node));
  }
  return told;
}

/// A line, a prompt or a file's name says it, too, or several folders are called alike.
bool is_supported(const std::string& name, const std::set<std::string>& told,
                  const FolderNames& folders) {
  if (told.contains(std::string(bare(name)))) return true;
  return std::any_of(folders.begin(), folders.end(), [&](const auto& other) {
    return other.second != name && name_pattern(other.second) == name_pattern(name);
  });
}

void rename(Event& event, std::string_view from, const std::string& to) {
  if (event.subject.node == from) event.subject.node = to;
  if (event.reporter == from) event.reporter = to == unnamed_node ? "" : to;
}

/// What slurmd says is about its own node, whether or not it names it.
bool of_unnamed_machine(const Event& event) {
  if (event.source == EventSource::scheduler && written_by_slurmd(event.raw.path))
    return event.subject.kind == SubjectKind::cluster || event.subject.node == unnamed_node;
  const bool of_machine =
      event.source == EventSource::kernel_log || event.source == EventSource::nvml;
  return of_machine && event.subject.node == unnamed_node;
}

/// `bare_name` as the machine's own kernel or driver has it, who may call it by its full name: a
/// card that has two names for its machine is two cards.
std::string as_told_by_machine(const std::string& bare_name, const Gathered& gathered) {
  for (const Event& event : gathered.events) {
    const bool own = event.source == EventSource::kernel_log || event.source == EventSource::nvml;
    if (own && bare(event.subject.node) == bare_name) return event.subject.node;
  }
  return bare_name;
}

}  // namespace

void settle_places(Gathered& gathered) {
  const FolderNames folders = named_by_folder(gathered.files);
  const std::set<std::string> told = machines_told(gathered, folders);
  for (Event& event : gathered.events) {
    const auto folder = folders.find(event.raw.path);
    if (folder != folders.end() && !is_supported(folder->second, told, folders))
      rename(event, folder->second, std::string(unnamed_node));
  }
  if (told.size() != 1 || may_be_of_several(gathered)) return;
  const std::string machine = as_told_by_machine(*told.begin(), gathered);
  for (Event& event : gathered.events) {
    if (!of_unnamed_machine(event)) continue;
    if (event.subject.kind == SubjectKind::cluster) event.subject = Subject::of_node(machine);
    event.subject.node = machine;
    event.reporter = machine;
  }
}

}  // namespace faultline
