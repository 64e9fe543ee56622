#include "diagnose/log_databases.h"

namespace faultline {

std::shared_ptr<const SignatureDatabase> LogDatabases::of(EventSource source) const {
  const std::lock_guard lock(mutex_);
  const auto [entry, fresh] = by_source_.try_emplace(source, nullptr);
  if (!fresh) return entry->second;
  auto database = SignatureDatabase::open(catalog_, layers_of(source), cache_folder_, counters_);
  if (database) {
    entry->second = std::move(database).value();
  } else if (status_.ok()) {
    status_ = database.error();
  }
  return entry->second;
}

Status LogDatabases::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace faultline
