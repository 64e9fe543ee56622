// The catalog compiled for each kind of log, shared by all threads. Compiling takes longer than
// most diagnoses, so what no file needs is not compiled.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/counters.h"
#include "catalog/catalog.h"
#include "ingest/record_lines.h"
#include "ingest/signature_database.h"

namespace faultline {

/// Thread-safe. The catalog and the counters must outlive it.
class LogDatabases {
 public:
  /// Compiled forms are kept in `cache_folder` where one is given; see SignatureDatabase::open.
  LogDatabases(const Catalog& catalog, Counters& counters, std::filesystem::path cache_folder = {})
      : catalog_(catalog), counters_(counters), cache_folder_(std::move(cache_folder)) {}

  /// Compiled at its first use; nullptr if that failed, and then status() says why.
  std::shared_ptr<const SignatureDatabase> of(EventSource source) const;
  const Catalog& catalog() const { return catalog_; }
  SystemDatabases of_system() const {
    return {of(EventSource::kernel_log), of(EventSource::scheduler)};
  }
  /// The first error.
  Status status() const;

 private:
  const Catalog& catalog_;
  Counters& counters_;
  std::filesystem::path cache_folder_;
  mutable std::mutex mutex_;
  mutable std::map<EventSource, std::shared_ptr<const SignatureDatabase>> by_source_;
  mutable Status status_ = ok_status();
};

}  // namespace faultline
