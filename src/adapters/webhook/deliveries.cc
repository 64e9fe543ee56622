#include "adapters/webhook/deliveries.h"

#include <utility>

namespace faultline {

std::uint64_t Deliveries::begin(const Incident& incident, std::size_t targets) {
  const std::lock_guard lock(mutex_);
  if (targets > 0) open_.emplace(++last_number_, Notice{incident, targets});
  return last_number_;
}

void Deliveries::end(std::uint64_t number, bool delivered) {
  const std::lock_guard lock(mutex_);
  const auto notice = open_.find(number);
  if (notice == open_.end()) return;
  if (delivered) notice->second.delivered = true;
  if (--notice->second.targets_left > 0) return;
  if (notice->second.delivered) delivered_.push_back(std::move(notice->second.incident));
  open_.erase(notice);
  over_.notify_all();
}

std::vector<Incident> Deliveries::take_delivered() {
  const std::lock_guard lock(mutex_);
  return std::exchange(delivered_, {});
}

bool Deliveries::wait_until_over(Duration deadline) {
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, deadline, [this] { return open_.empty(); });
}

}  // namespace faultline
