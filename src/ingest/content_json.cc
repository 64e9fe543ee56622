#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ingest/content_forms.h"

namespace faultline {
namespace {

constexpr std::size_t keys_max = 512;  // a document shows itself long before

struct Key {
  std::size_t depth;  // 1: of the outermost object
  std::string_view name;
};

/// The keys of the first value in a text that may be cut anywhere. Escapes are passed over, not
/// read: no key that we know has one.
class KeyScan {
 public:
  explicit KeyScan(std::string_view text) : text_(text) {}

  std::vector<Key> keys() {
    do {
      step();
    } while (at_ < text_.size() && depth_ > 0 && keys_.size() < keys_max);
    return std::move(keys_);
  }

 private:
  void step() {
    const char c = text_[at_++];
    if (c == '{' || c == '[') ++depth_;
    if ((c == '}' || c == ']') && depth_ > 0) --depth_;
    if (c == '"') string();
  }

  void string() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return;
    const auto name = text_.substr(start, at_++ - start);
    const auto next = text_.find_first_not_of(" \t\r\n", at_);
    if (next != std::string_view::npos && text_[next] == ':') keys_.push_back({depth_, name});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::vector<Key> keys_;
};

class Keys {
 public:
  explicit Keys(std::string_view text) : keys_(KeyScan(text).keys()) {}

  [[nodiscard]] bool has(std::size_t depth, std::string_view name) const {
    return std::any_of(keys_.begin(), keys_.end(),
                       [&](const Key& key) { return key.depth == depth && key.name == name; });
  }
  [[nodiscard]] long count(std::size_t depth, std::initializer_list<std::string_view> names) const {
    return std::count_if(names.begin(), names.end(),
                         [&](std::string_view name) { return has(depth, name); });
  }

 private:
  std::vector<Key> keys_;
};

bool is_journal(const Keys& keys) {
  return keys.count(1, {"__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID",
                        "MESSAGE"}) >= 2;
}

/// Of its parts any may be missing: a dump can be asked for without its entries, or its status.
bool is_flight_recorder(const Keys& keys) {
  const auto parts = keys.count(1, {"pg_config", "pg_status", "comm_lib_version"});
  const auto entry =
      keys.count(3, {"record_id", "collective_seq_id", "seq_id", "pg_id", "profiling_name"});
  return parts + keys.count(1, {"entries", "version"}) >= (parts > 0 ? 2 : 3) ||
         (keys.has(1, "entries") && entry >= 2);
}

bool is_inspector(const Keys& keys) {
  return keys.has(1, "header") && keys.count(1, {"coll_perf", "p2p_perf", "metadata"}) >= 1 &&
         keys.count(2, {"id", "rank", "n_ranks", "nnodes"}) >= 2;
}

/// A report of the whole job, or what a monitor says of one process.
bool is_ras(const Keys& keys) {
  if (keys.count(1, {"group", "event", "peer"}) == 3) return keys.has(2, "cuda_devs");
  return keys.has(1, "communicators") &&
         (keys.count(3, {"hash", "secondary_hash", "size", "ranks", "ranks_count",
                         "missing_ranks_count"}) >= 2 ||
          keys.count(1, {"nccl_version", "ras", "cuda_runtime_version"}) >= 1);
}

/// Of sacct; what squeue and scontrol say of jobs is spelt alike.
bool is_slurm(const Keys& keys) {
  return keys.has(1, "jobs") &&
         (keys.count(3, {"job_id", "job_state", "state", "association", "steps", "array", "account",
                         "cluster", "partition", "derived_exit_code", "state_reason",
                         "restart_cnt"}) >= 3 ||
          keys.count(3, {"Slurm", "slurm"}) >= 1);
}

/// Of scontrol, and of sinfo in its two spellings.
bool is_slurm_nodes(const Keys& keys) {
  if (keys.has(1, "sinfo")) return keys.count(3, {"node", "nodes", "partition", "reason"}) >= 3;
  return keys.has(1, "nodes") &&
         keys.count(3, {"name", "hostname", "state", "architecture", "boot_time", "reason", "gres",
                        "slurmd_start_time", "partitions", "cpus"}) >= 3;
}

bool is_kubernetes(const Keys& keys) {
  return keys.has(1, "apiVersion") && keys.count(1, {"kind", "items", "metadata"}) >= 1;
}

/// The entries of a LogService; a collection of anything else has members, too.
bool is_redfish_log(const Keys& keys) {
  return keys.has(1, "Members") && keys.count(3, {"MessageId", "Severity", "Created", "EntryType",
                                                  "EntryCode", "SensorType", "Message"}) >= 3;
}

}  // namespace

std::optional<ContentKind> json_kind(std::string_view text) {
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return std::nullopt;
  const Keys keys(text);
  if (is_journal(keys)) return ContentKind::journal_json;
  if (keys.has(1, "dmesg") && keys.count(3, {"msg", "pri", "time"}) >= 1)
    return ContentKind::dmesg_json;
  if (is_flight_recorder(keys)) return ContentKind::flight_recorder_json;
  if (is_inspector(keys)) return ContentKind::nccl_inspector;
  if (is_ras(keys)) return ContentKind::nccl_ras_json;
  if (is_slurm(keys)) return ContentKind::sacct_json;
  if (is_slurm_nodes(keys)) return ContentKind::slurm_nodes_json;
  if (is_redfish_log(keys)) return ContentKind::redfish_log;
  if (is_kubernetes(keys)) return ContentKind::kubernetes_json;
  return std::nullopt;
}

}  // namespace faultline
