#include "diagnose/log_databases.h"

namespace faultline {

std::shared_ptr<const SignatureDatabase> LogDatabases::of(EventSource source) const {
  const std::lock_guard lock(mutex_);
  const auto [entry, fresh] = by_source_.try_emplace(source, nullptr);
  if (!fresh) return entry->second;
  auto database = SignatureDatabase::open(catalog_, layers_of(source), {}, counters_);
  if (database) {
    entry->second = std::move(*database);
  } else if (status_.ok()) {
    status_ = database.error();
  }
  return entry->second;
}

std::shared_ptr<const LineFilter> LogDatabases::job_lines() const {
  const auto database = of(EventSource::job_log);
  const std::lock_guard lock(mutex_);
  if (job_lines_ != nullptr || database == nullptr) return job_lines_;
  auto filter = LineFilter::open(database);
  if (filter) {
    job_lines_ = std::move(*filter);
  } else if (status_.ok()) {
    status_ = filter.error();
  }
  return job_lines_;
}

Status LogDatabases::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace faultline
