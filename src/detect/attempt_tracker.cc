#include "detect/attempt_tracker.h"

#include <algorithm>
#include <csignal>

#include "base/contains.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

void read_nodes(const Event& event, AttemptRecord& record) {
  const std::string_view list = event.field("nodes");
  if (list.empty()) return;
  auto nodes = expand_hostlist(list, attempt_nodes_max);
  if (!nodes) return;
  record.nodes = std::move(nodes.value());
  record.nodes_heard = event.field(nodes_heard_field) == "1";
}

void read_start(const Event& event, AttemptRecord& record) {
  read_nodes(event, record);
  if (record.user.empty()) record.user = event.field("user");
  if (record.name.empty()) record.name = event.field("name");
  if (record.array_job.empty()) record.array_job = event.field("array_job");
}

void read_rank(const Event& event, AttemptRecord& record) {
  const std::int32_t rank = event.subject.rank;
  if (rank < 0 || (record.ranks.size() >= attempt_ranks_max && !record.ranks.contains(rank)))
    return;
  const auto world = parse_number<std::int32_t>(event.field("world")).value_or(0);
  if (world <= static_cast<std::int32_t>(attempt_ranks_max)) {
    record.world_size = std::max(record.world_size, world);
  }
  RankPlace& place = record.ranks[rank];
  place.rank = rank;
  if (const std::string& node = node_of(event); !node.empty()) place.node = node;
  place.local_rank =
      parse_number<std::int32_t>(event.field("local_rank")).value_or(place.local_rank);
  place.pid = parse_number<std::int64_t>(event.field("pid")).value_or(place.pid);
  if (const std::string_view gpus = event.field("gpus"); !gpus.empty()) {
    place.gpus.clear();
    for (const std::string_view gpu : split(gpus, ','))
      place.gpus.push_back(canonical_pci(trim(gpu)));
  }
}

void read_address(const Event& event, AttemptRecord& record) {
  const std::string_view address = event.field("own_address"), host = event.field("host");
  const bool full = record.node_of_address.size() >= attempt_nodes_max;
  if (address.empty() || host.empty() || full) return;
  const auto [entry, fresh] = record.node_of_address.try_emplace(std::string(address), host);
  if (!fresh && entry->second != host) entry->second.clear();
}

void read_exit(const Event& event, AttemptRecord& record) {
  read_rank(event, record);
  const bool failed = signal_of(event) != 0 ||
                      (event.field("exit_code") != "0" && !event.field("exit_code").empty());
  if (!failed || event.subject.rank < 0 || record.failed_ranks.size() >= attempt_ranks_max) return;
  record.failed_ranks.try_emplace(event.subject.rank,
                                  Fact{event, happened_at(event), learnt_at(event)});
}

void read_end(const Event& event, AttemptRecord& record) {
  read_start(event, record);
  const auto state = parse_enum<AttemptState>(event.field("state"));
  if (!state || (record.end && record.end->event.id == event.id)) return;
  record.state = *state;
  record.end = Fact{event, happened_at(event), learnt_at(event)};
}

}  // namespace

const std::string* AttemptRecord::node_called(std::string_view host) const {
  const auto owner = node_of_address.find(host);
  if (owner != node_of_address.end()) host = owner->second;
  if (host.empty()) return nullptr;
  const auto exact = std::find(nodes.begin(), nodes.end(), host);
  if (exact != nodes.end()) return &*exact;
  const std::string* found = nullptr;
  for (const std::string& node : nodes) {
    const bool longer = host.size() > node.size() && host.starts_with(node) &&
                        (host[node.size()] == '.' || host[node.size()] == '-');
    const bool shorter =
        node.size() > host.size() && node.starts_with(host) && node[host.size()] == '.';
    if (!longer && !shorter) continue;
    if (found == nullptr || node.size() > found->size()) found = &node;
  }
  return found;
}

const RankPlace* AttemptRecord::place_of(std::int32_t rank) const {
  const auto place = ranks.find(rank);
  return place == ranks.end() ? nullptr : &place->second;
}

std::int32_t AttemptRecord::rank_at(std::string_view node, std::int32_t local_rank) const {
  for (const auto& [rank, place] : ranks) {
    if (place.node == node && place.local_rank == local_rank) return rank;
  }
  return -1;
}

std::set<std::int32_t> AttemptRecord::world() const {
  std::set<std::int32_t> all;
  for (const auto& [rank, place] : ranks) all.insert(rank);
  for (std::int32_t rank = 0; rank < world_size; ++rank) all.insert(all.end(), rank);
  return all;
}

std::optional<AttemptId> attempt_of(const Event& event) {
  if (event.attempt) return event.attempt;
  const bool named =
      event.subject.kind == SubjectKind::attempt || event.subject.kind == SubjectKind::rank;
  if (named && !event.subject.attempt.job.empty()) return event.subject.attempt;
  return std::nullopt;
}

AttemptRecord* AttemptTracker::observe(const Event& event) {
  const auto id = attempt_of(event);
  if (!id) return nullptr;
  AttemptRecord& record = touch(*id);
  if (event.kind == EventKind::attempt_started) {
    read_start(event, record);
    if (event.source == EventSource::scheduler) {
      record.started_at = happened_at(event);
      record.start_event = event.id;
    }
  }
  if (event.kind == EventKind::attempt_ended) read_end(event, record);
  if (event.kind == EventKind::rank_started) read_rank(event, record);
  if (event.kind == EventKind::rank_exited) read_exit(event, record);
  if (event.signature == own_address_signature) read_address(event, record);
  return &record;
}

AttemptRecord* AttemptTracker::find(const AttemptId& id) {
  const auto entry = attempts_.find(id);
  return entry == attempts_.end() ? nullptr : &entry->second.record;
}

std::vector<AttemptId> AttemptTracker::running_on(std::string_view node) const {
  std::vector<AttemptId> running;
  for (const auto& [id, entry] : attempts_) {
    const AttemptRecord& record = entry.record;
    if (record.end) continue;
    if (contains(record.nodes, node)) running.push_back(id);
  }
  return running;
}

void AttemptTracker::forget(const AttemptId& id) {
  const auto entry = attempts_.find(id);
  if (entry == attempts_.end()) return;
  by_use_.erase(entry->second.use);
  attempts_.erase(entry);
}

AttemptRecord& AttemptTracker::touch(const AttemptId& id) {
  if (const auto entry = attempts_.find(id); entry != attempts_.end()) {
    by_use_.splice(by_use_.end(), by_use_, entry->second.use);
    return entry->second.record;
  }
  if (attempts_.size() >= attempts_max) {
    forgotten_.push_back(by_use_.front());
    forget(AttemptId(by_use_.front()));
  }
  by_use_.push_back(id);
  Entry& entry = attempts_[id];
  entry.use = std::prev(by_use_.end());
  entry.record.id = id;
  return entry.record;
}

bool says_down(const Event& event) {
  if (const auto down = event.field("down"); !down.empty()) return down == "true";
  const std::string state = to_lower(event.field("state"));
  const bool saves_power = state.find("power") != std::string::npos;
  return !saves_power &&
         (state.starts_with("down") || state.starts_with("fail") || state.ends_with("*"));
}

int signal_of(const Event& event) {
  std::string_view text = event.field("signal");
  if (text.starts_with("SIG")) {
    static constexpr std::pair<std::string_view, int> names[] = {
        {"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},   {"SIGILL", SIGILL},
        {"SIGABRT", SIGABRT}, {"SIGBUS", SIGBUS},   {"SIGFPE", SIGFPE},
        {"SIGKILL", SIGKILL}, {"SIGSEGV", SIGSEGV}, {"SIGTERM", SIGTERM}};
    for (const auto& [name, number] : names) {
      if (text == name) return number;
    }
  }
  if (const auto number = parse_number<int>(text); number && *number > 0 && *number < 65)
    return *number;
  for (const std::string_view name : {"exit_code", "rc"}) {
    const auto code = parse_number<int>(event.field(name));
    if (code && *code < 0 && *code > -65) return -*code;              // Python and torchrun: -9
    if (code && *code > 128 && *code < 128 + 65) return *code - 128;  // shells and Slurm: 137
  }
  return 0;
}

}  // namespace faultline
