#include "base/counters.h"

namespace faultline {

void Counters::add(std::string_view name, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  const auto it = values_.find(name);
  if (it == values_.end()) {
    values_.emplace(name, amount);
  } else {
    it->second += amount;
  }
}

void Counters::set(std::string_view name, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  values_[std::string(name)] = value;
}

std::uint64_t Counters::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = values_.find(name);
  return it == values_.end() ? 0 : it->second;
}

CounterValues Counters::snapshot() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

}  // namespace faultline
