#include "agent/notices.h"

#include <utility>

namespace faultline {

void Notices::add(std::string_view kind, std::uint64_t lines, std::uint64_t bytes) {
  Tally& held = kinds_.try_emplace(std::string(kind)).first->second.held;
  ++held.times;
  held.lines += lines;
  held.bytes += bytes;
}

std::vector<Notices::Due> Notices::take_due(Duration now) { return take(now); }

std::vector<Notices::Due> Notices::take_all() { return take(std::nullopt); }

std::vector<Notices::Due> Notices::take(std::optional<Duration> now) {
  std::vector<Due> due;
  for (auto& [name, kind] : kinds_) {
    const bool early = now && kind.said_at && *now - *kind.said_at < interval_;
    if (kind.held.times == 0 || early) continue;
    due.push_back({name, std::exchange(kind.held, {})});
    kind.said_at = now;
  }
  return due;
}

}  // namespace faultline
