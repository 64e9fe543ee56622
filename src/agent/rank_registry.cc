#include "agent/rank_registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace faultline {
namespace {

constexpr std::size_t ranks_max = 4096;
constexpr std::size_t past_max = 512;

}  // namespace

std::string RankRegistry::refusal(const LauncherPeer& peer, const std::string& job,
                                  const std::optional<ProcessOrigin>& origin) const {
  if (origin && !origin->job.empty() && origin->job != job) {
    return fmt::format("process {} belongs to job {}, not {}", peer.pid, origin->job, job);
  }
  for (const auto& [key, rank] : ranks_) {
    if (key.first.job == job && rank.uid != peer.uid) {
      return fmt::format("job {} belongs to user {}, not {}", job, rank.uid, peer.uid);
    }
  }
  if (ranks_.size() >= ranks_max) return "too many ranks on this node";
  return {};
}

bool RankRegistry::add(const LauncherPeer& peer, const LauncherMessage& message) {
  const auto key = std::make_pair(message.attempt, message.rank);
  const auto it = ranks_.find(key);
  const bool known = it != ranks_.end() && it->second.pid == message.pid;
  ranks_[key] = {message.attempt, message.rank,    message.pid, peer.uid,
                 message.log,     peer.connection, false};
  return !known;
}

RankRegistry::Rank* RankRegistry::find(const AttemptId& attempt, std::int32_t rank) {
  const auto it = ranks_.find({attempt, rank});
  return it == ranks_.end() ? nullptr : &it->second;
}

std::optional<AttemptId> RankRegistry::attempt_of_pid(std::int64_t pid) const {
  for (const auto& [key, rank] : ranks_) {
    if (rank.pid == pid && pid > 0) return rank.attempt;
  }
  const auto it = std::find_if(past_.rbegin(), past_.rend(),
                               [&](const Rank& rank) { return rank.pid == pid && pid > 0; });
  if (it != past_.rend()) return it->attempt;
  return std::nullopt;
}

std::optional<AttemptId> RankRegistry::attempt_of_job(std::string_view job) const {
  std::optional<AttemptId> newest;
  for (const auto& [key, rank] : ranks_) {
    if (key.first.job == job && (!newest || key.first.restart > newest->restart))
      newest = key.first;
  }
  return newest;
}

std::vector<RankRegistry::Rank> RankRegistry::remove_connection(std::uint64_t connection) {
  std::vector<Rank> gone;
  for (auto it = ranks_.begin(); it != ranks_.end();) {
    if (it->second.connection == connection) {
      gone.push_back(it->second);
      it = ranks_.erase(it);
    } else {
      ++it;
    }
  }
  past_.insert(past_.end(), gone.begin(), gone.end());
  while (past_.size() > past_max) past_.pop_front();
  return gone;
}

}  // namespace faultline
