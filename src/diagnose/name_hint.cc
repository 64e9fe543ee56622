#include "diagnose/name_hint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <vector>

#include "base/contains.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t rank_digits_max = 7;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "rank3.stderr.log" -> rank3, stderr, log.
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool separator = i == name.size() || name[i] == '.' || name[i] == '_' || name[i] == '-' ||
                           name[i] == '=' || name[i] == '@';
    if (!separator) continue;
    if (i > start) words.push_back(name.substr(start, i - start));
    start = i + 1;
  }
  return words;
}

std::optional<std::int32_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > rank_digits_max ||
      !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  return parse_number<std::int32_t>(text);
}

/// "rank3", or "rank" and "3".
std::int32_t rank_in(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = to_lower(words[i]);
    if (!word.starts_with("rank")) continue;
    if (const auto number = small_number(std::string_view(word).substr(4))) return *number;
    const bool apart = word == "rank" && i + 1 < words.size();
    if (const auto number = apart ? small_number(words[i + 1]) : std::nullopt) return *number;
  }
  return -1;
}

/// "slurm-123_4.out" and "job-123.log", as Slurm and people name them.
std::string job_in(std::string_view name) {
  for (const std::string_view head : {"slurm-", "job-", "job_", "slurm_"}) {
    if (!name.starts_with(head)) continue;
    const std::string_view rest = name.substr(head.size());
    std::size_t end = 0;
    while (end < rest.size() &&
           (is_digit(rest[end]) || rest[end] == '+' ||
            (rest[end] == '_' && end + 1 < rest.size() && is_digit(rest[end + 1]))))
      ++end;
    const std::string_view id = rest.substr(0, end);
    if (!id.empty() && is_digit(id[0]) && valid_job_id(id)) return std::string(id);
  }
  return {};
}

/// A word that ends in digits, as hosts' names do, and not a number of something else: a run, a
/// day, a ticket.
bool named_as_host(std::string_view name) {
  constexpr auto others = std::to_array<std::string_view>(
      {"run",     "runs",  "job",   "jobs",   "rank",   "attempt",  "log",   "logs",  "case",
       "exp",     "step",  "slurm", "batch",  "ticket", "incident", "issue", "inc",   "v",
       "version", "rev",   "part",  "day",    "week",   "test",     "try",   "trial", "epoch",
       "seed",    "fold",  "shard", "stage",  "iter",   "lr",       "bs",    "gpus",  "nodes",
       "task",    "train", "efi",   "pstore", "erst",   "ramoops"});
  const std::string lower = to_lower(name);
  const auto word = lower.substr(0, lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  return !name.empty() && is_digit(name.back()) && !is_digit(name[0]) && !contains(others, word) &&
         valid_node_name(name);
}

/// "a-i0" of "nvidia-smi-a-i0.txt" are options, and "q-n3" ends in a host.
std::string_view behind_options(std::string_view stem) {
  constexpr auto options = std::to_array<std::string_view>(
      {"a", "q", "x", "l", "i", "d", "ecc", "topo", "nvlink", "query", "list", "full"});
  while (!stem.empty()) {
    const auto end = std::min(stem.find_first_of("-_"), stem.size());
    const std::string word = to_lower(stem.substr(0, end));
    const bool index = word.size() > 1 && word[0] == 'i' && small_number(word.substr(1));
    if (!index && !contains(options, std::string_view(word))) break;
    stem.remove_prefix(std::min(end + 1, stem.size()));
  }
  return stem;
}

/// "dmesg-efi-pstore" is a dmesg.
bool begins_with_word(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return false;
  name.remove_prefix(word.size());
  return name.empty() || name[0] == '-' || name[0] == '_' || name[0] == '.';
}

/// "n3", "gpu-node-007" before what says what the file is.
std::string node_in(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kinds = {
      "dmesg",   "kern",   "kernel", "journal", "syslog",   "messages", "nvidia-smi", "nvidia",
      "smi",     "slurmd", "ibstat", "ipmi",    "ipmitool", "ipmi-sel", "sel",        "bmc",
      "redfish", "nvlink", "log",    "txt",     "out",      "err"};
  const auto dot = name.find('.');
  std::string_view stem = name.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  // "n3.dmesg.txt"; "n3.log" may be anybody's.
  const auto* const system_kinds_end = kinds.end() - 4;
  bool names_kind = std::any_of(kinds.begin(), system_kinds_end, [&](std::string_view kind) {
    return begins_with_word(rest, kind);
  });
  for (const std::string_view kind : kinds) {
    for (const char separator : {'-', '_'}) {
      const std::string before = std::string(kind) + separator,
                        after = separator + std::string(kind);
      if (stem.starts_with(before)) {
        stem.remove_prefix(before.size()), names_kind = true;
        if (before.ends_with("smi-") || before.ends_with("smi_")) stem = behind_options(stem);
      }
      if (stem.ends_with(after)) stem.remove_suffix(after.size()), names_kind = true;
    }
  }
  return names_kind && named_as_host(stem) ? std::string(stem) : "";
}

/// "n3", "node-12", "gpu-0-1": a word that people give to machines, and numbers.
bool begins_as_machine(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>(
      {"n", "g", "node", "gpu", "host", "worker", "compute", "server", "hgx", "dgx", "nid"});
  const auto end = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return contains(words, name.substr(0, end)) &&
         name.find_first_not_of("0123456789-", std::min(end, name.size())) == name.npos;
}

/// "b04_xid109", "case-xid79": called after what is in it.
bool called_after_fault(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>({"xid", "sxid", "ecc", "oom", "nccl"});
  const std::string lower = to_lower(name);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    const auto at = lower.find(word);
    return at != std::string::npos && (at == 0 || lower[at - 1] == '-' || lower[at - 1] == '_');
  });
}

/// "n3/dmesg.txt": the folder of a file that says only what it is.
std::string node_in_folder(std::string_view folder, std::string_view name) {
  static constexpr std::array<std::string_view, 21> of_node = {"dmesg",
                                                               "kern",
                                                               "kernel",
                                                               "journal",
                                                               "syslog",
                                                               "messages",
                                                               "nvidia-smi",
                                                               "smi",
                                                               "ibstat",
                                                               "slurmd",
                                                               "nvidia-bug-report",
                                                               "ipmi",
                                                               "ipmitool",
                                                               "sel",
                                                               "bmc",
                                                               "redfish",
                                                               "nvlink",
                                                               "last-x",
                                                               "wtmp",
                                                               "boots",
                                                               "list-boots"};
  const std::string lower = to_lower(name);
  const bool one_of_them = std::any_of(of_node.begin(), of_node.end(), [&](std::string_view word) {
    return begins_with_word(lower, word);
  });
  if (!one_of_them) return {};
  return named_as_host(folder) && !called_after_fault(folder) ? std::string(folder) : "";
}

/// "n3" of "slurm-123_4-n3", "n3_1" of "train_123_n3_1"; "" without a number before a word.
std::string_view behind_job_number(std::string_view stem) {
  bool after_number = false;
  while (!stem.empty()) {
    const std::string_view word = stem.substr(0, stem.find_first_of("_-"));
    const bool number = !word.empty() && word.find_first_not_of("0123456789+") == word.npos;
    if (after_number && !number) return stem;
    after_number = number;
    stem.remove_prefix(std::min(stem.size(), word.size() + 1));
  }
  return {};
}

/// "n3-1" may be a host of that name, or task 1 of n3.
bool may_end_in_task(std::string_view host) {
  const auto dash = host.rfind('-');
  return dash != std::string_view::npos && dash > 0 && is_digit(host[dash - 1]) &&
         host.find_first_not_of("0123456789", dash + 1) == std::string_view::npos;
}

/// What Slurm writes for %N, and for %t behind it.
void learn_from_job_file(std::string_view name, NameHint& hint) {
  const std::string_view rest = behind_job_number(name.substr(0, name.find('.')));
  const std::string_view host = rest.substr(0, rest.find('_'));
  if (!named_as_host(host) || may_end_in_task(host)) return;
  hint.node = host;
  hint.written_by_task =
      host.size() < rest.size() && small_number(rest.substr(host.size() + 1)).has_value();
}

/// "123_4_0_log.err", as submitit names them: job, array task and task.
void learn_from_submitit(std::string_view name, NameHint& hint) {
  const std::vector<std::string_view> words = words_of(name);
  if (words.size() < 4 || words.size() > 5 || words[words.size() - 2] != "log") return;
  const std::size_t task = words.size() - 3;
  for (std::size_t i = 0; i <= task; ++i) {
    if (!std::all_of(words[i].begin(), words[i].end(), is_digit)) return;
  }
  hint.rank = small_number(words[task]).value_or(-1);
  hint.job = words[0];
  if (task == 2) hint.job += "_" + std::string(words[1]);
}

/// "n3" of "hostname=n3, local_rank=..."; "" without the name.
std::string_view value_of(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find_first_of(",()"));
}

}  // namespace

void learn_from_submitit_line(std::string_view text, NameHint& hint) {
  constexpr std::string_view before = " - Starting with ", name = "JobEnvironment(";
  std::optional<NameHint> told;
  // Looked for by the word with a rare first letter: the whole head of every log is gone through.
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name)) {
    const bool starts = text.substr(0, at).ends_with(before);
    text.remove_prefix(at + name.size());
    if (!starts) continue;
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view job = value_of(line, "job_id="), node = value_of(line, "hostname=");
    const auto rank = small_number(value_of(line, "global_rank="));
    if (!rank || !valid_job_id(job) || !valid_node_name(node)) return;
    // A job that was put back to the queue appends to its log, from wherever it runs now.
    if (told && (told->rank != *rank || told->node != node)) return;
    told = NameHint{*rank, std::string(job), std::string(node), true};
  }
  if (told) hint = *std::move(told);
}

NameHint name_hint(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  NameHint hint;
  hint.rank = rank_in(words_of(name));
  hint.job = job_in(name);
  hint.node = node_in(name);
  if (hint.node.empty()) learn_from_job_file(name, hint);
  learn_from_submitit(name, hint);
  if (slash == std::string_view::npos) return hint;
  const std::string_view folders = path.substr(0, slash);
  const std::string_view folder = folders.substr(folders.rfind('/') + 1);
  if (hint.node.empty()) {
    hint.node = node_in_folder(folder, name);
    hint.node_by_folder = !hint.node.empty() && !begins_as_machine(to_lower(folder));
  }
  // torchrun --log-dir: RUN/attempt_0/RANK/stderr.log
  const bool torchrun = folders.find("attempt_") != std::string_view::npos;
  if (hint.rank < 0 && torchrun) hint.rank = small_number(folder).value_or(-1);
  if (hint.rank < 0) hint.rank = rank_in(words_of(folder));
  return hint;
}

namespace {

/// A path in two: what is no number, with '#' for each number, and the numbers. A number that
/// counts runs is none of them.
struct Numbered {
  std::string shape;
  std::vector<std::int32_t> numbers;  // -1 of what is too long for a rank
};

bool counts_runs(std::string_view before) {
  static constexpr auto words = std::to_array<std::string_view>(
      {"run", "job", "attempt", "exp", "try", "trial", "restart", "node", "host"});
  while (!before.empty() && !is_digit(before.back()) &&
         std::isalpha(static_cast<unsigned char>(before.back())) == 0)
    before.remove_suffix(1);
  const std::string lower = to_lower(before);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.ends_with(word); });
}

Numbered numbered(std::string_view path) {
  Numbered result;
  for (std::size_t at = 0; at < path.size();) {
    std::size_t end = at;
    while (end < path.size() && is_digit(path[end])) ++end;
    if (end == at) {
      result.shape += path[at++];
    } else if (counts_runs(path.substr(0, at))) {
      result.shape += path.substr(at, end - at);
      at = end;
    } else {
      result.shape += '#';
      result.numbers.push_back(small_number(path.substr(at, end - at)).value_or(-1));
      at = end;
    }
  }
  return result;
}

/// The place at which all have a number of their own, the smallest ones if there are several; -1 if
/// there is none.
std::ptrdiff_t telling_place(const std::vector<const Numbered*>& siblings) {
  std::ptrdiff_t best = -1;
  std::int32_t best_max = 0;
  for (std::size_t place = 0; place < siblings.front()->numbers.size(); ++place) {
    std::set<std::int32_t> values;
    for (const Numbered* sibling : siblings) values.insert(sibling->numbers[place]);
    const bool tells = values.size() == siblings.size() && *values.begin() >= 0;
    if (!tells || (best >= 0 && *values.rbegin() >= best_max)) continue;
    best = static_cast<std::ptrdiff_t>(place);
    best_max = *values.rbegin();
  }
  return best;
}

}  // namespace

std::map<std::string, std::int32_t> numbers_among_siblings(const std::vector<std::string>& paths) {
  std::vector<Numbered> all;
  std::map<std::string_view, std::vector<std::size_t>> families;
  all.reserve(paths.size());
  for (const std::string& path : paths) all.push_back(numbered(path));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (name_hint(paths[i]).rank < 0) families[all[i].shape].push_back(i);
  }
  std::map<std::string, std::int32_t> found;
  for (const auto& [shape, members] : families) {
    if (members.size() < 2) continue;
    std::vector<const Numbered*> siblings;
    for (const std::size_t i : members) siblings.push_back(&all[i]);
    const std::ptrdiff_t place = telling_place(siblings);
    if (place < 0) continue;
    for (const std::size_t i : members)
      found.emplace(paths[i], all[i].numbers[static_cast<std::size_t>(place)]);
  }
  return found;
}

std::int32_t trailing_rank(std::string_view path) {
  const auto slash = path.rfind('/');
  const auto words = words_of(slash == std::string_view::npos ? path : path.substr(slash + 1));
  if (const std::int32_t rank = rank_in(words); rank >= 0) return rank;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    std::size_t digits = 0;  // "12", "trace12"
    while (digits < word->size() && is_digit((*word)[word->size() - 1 - digits])) ++digits;
    if (const auto number = small_number(word->substr(word->size() - digits))) return *number;
  }
  return name_hint(path).rank;
}

}  // namespace faultline
