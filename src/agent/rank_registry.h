// The ranks that launchers on this node have announced: who may speak for which job, and which
// attempt a pid belongs to.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/launcher.h"
#include "agent/ports.h"

namespace faultline {

class RankRegistry {
 public:
  struct Rank {
    AttemptId attempt;
    std::int32_t rank = -1;
    std::int64_t pid = 0;
    std::uint32_t uid = 0;
    std::string log;
    std::uint64_t connection = 0;
    bool exited = false;
  };

  /// "" if `peer` may speak for `job`, else why not. `origin` is what /proc says of the peer.
  [[nodiscard]] std::string refusal(const LauncherPeer& peer, const std::string& job,
                                    const std::optional<ProcessOrigin>& origin) const;
  /// False if this very rank was announced before, by an earlier connection (the agent or the
  /// socket was restarted).
  bool add(const LauncherPeer& peer, const LauncherMessage& message);
  /// nullptr if it was never announced.
  [[nodiscard]] Rank* find(const AttemptId& attempt, std::int32_t rank);
  [[nodiscard]] std::optional<AttemptId> attempt_of_pid(std::int64_t pid) const;
  /// The newest attempt of a job on this node.
  [[nodiscard]] std::optional<AttemptId> attempt_of_job(std::string_view job) const;
  /// Forgets what the connection announced; the ranks that it took along.
  std::vector<Rank> remove_connection(std::uint64_t connection);
  [[nodiscard]] std::size_t size() const { return ranks_.size(); }

 private:
  std::map<std::pair<AttemptId, std::int32_t>, Rank> ranks_;
  // The kernel may speak of a process that is gone already; newest last, bounded.
  std::deque<Rank> past_;
};

}  // namespace faultline
