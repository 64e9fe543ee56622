// Attempts as the event stream tells them: their nodes, where each rank runs, and how they ended.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "detect/event_window.h"
#include "model/attempt.h"

namespace faultline {

inline constexpr std::size_t attempts_max =
    4096;  // remembered; the one longest untouched goes first
inline constexpr std::size_t attempt_nodes_max = 65536;  // the largest systems are far below
inline constexpr std::size_t attempt_ranks_max = 262144;

struct AttemptRecord {
  AttemptId id;
  std::string user;
  std::string name;
  std::string array_job;
  Instant started_at;   // by the scheduler's word; unknown without it
  EventId start_event;  // where it says so
  std::vector<std::string> nodes;
  bool nodes_heard = false;  // `nodes` are those that lines name; there may be more
  /// By an address of theirs; "" where several nodes call it their own.
  std::map<std::string, std::string, std::less<>> node_of_address;
  std::int32_t world_size = 0;  // 0 if nobody has told
  std::map<std::int32_t, RankPlace> ranks;
  std::map<std::int32_t, Fact> failed_ranks;  // first exit with an error of each rank
  AttemptState state = AttemptState::running;
  std::optional<Fact> end;  // attempt_ended

  /// The node of the attempt that `host` means: itself, without its domain, or with an interface's
  /// suffix ("n1-ib0"), or by its address, as far as lines told it. nullptr if none, or if the
  /// attempt's nodes are not known.
  [[nodiscard]] const std::string* node_called(std::string_view host) const;
  [[nodiscard]] const RankPlace* place_of(std::int32_t rank) const;
  /// The global rank of a local rank on a node, -1 if it is not known.
  [[nodiscard]] std::int32_t rank_at(std::string_view node, std::int32_t local_rank) const;
  /// What requeues and array tasks have in common.
  [[nodiscard]] const std::string& family() const { return array_job.empty() ? id.job : array_job; }
  /// Every rank there is; empty if that is not known.
  [[nodiscard]] std::set<std::int32_t> world() const;
};

/// The line by which a process tells the address at which others reach it.
inline constexpr std::string_view own_address_signature = "nccl.own_address";

/// Of attempt_started, "1": `nodes` are those that the job's lines name, and there may be more.
inline constexpr std::string_view nodes_heard_field = "nodes_heard";

/// The attempt that an event belongs to, if it says so.
std::optional<AttemptId> attempt_of(const Event& event);

class AttemptTracker {
 public:
  /// Takes attempt_started, attempt_ended, rank_started and rank_exited; other events only keep
  /// their attempt from being forgotten. Returns the attempt that the event belongs to, or nullptr.
  AttemptRecord* observe(const Event& event);
  [[nodiscard]] AttemptRecord* find(const AttemptId& id);
  /// The first attempt of which `wanted(record)` holds, or nullptr.
  template <class Predicate>
  [[nodiscard]] const AttemptRecord* find_if(Predicate wanted) const {
    for (const auto& [id, entry] : attempts_) {
      if (wanted(entry.record)) return &entry.record;
    }
    return nullptr;
  }
  /// Attempts that run on `node` and have not ended.
  [[nodiscard]] std::vector<AttemptId> running_on(std::string_view node) const;
  /// Forgotten since the last call, because there were too many.
  std::vector<AttemptId> take_forgotten() { return std::exchange(forgotten_, {}); }
  void forget(const AttemptId& id);

 private:
  struct Entry {
    AttemptRecord record;
    std::list<AttemptId>::iterator use;
  };
  AttemptRecord& touch(const AttemptId& id);
  std::map<AttemptId, Entry> attempts_;
  std::list<AttemptId> by_use_;  // the longest untouched in front
  std::vector<AttemptId> forgotten_;
};

/// True if a node_seen event says that the scheduler has lost the node: down, failed or not
/// responding.
bool says_down(const Event& event);

/// The exit signal that an event carries: field `signal`, or an exit code of -9 or 137; 0 if none.
int signal_of(const Event& event);

}  // namespace faultline
