// The catalog compiled for each kind of log, shared by all threads. Compiling takes longer than
// most diagnoses, so what no file needs is not compiled.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/counters.h"
#include "catalog/catalog.h"
#include "ingest/record_lines.h"
#include "ingest/signature_database.h"

namespace faultline {

/// Thread-safe. The catalog and the counters must outlive it.
class LogDatabases {
 public:
  LogDatabases(const Catalog& catalog, Counters& counters)
      : catalog_(catalog), counters_(counters) {}

  /// Compiled at its first use; nullptr if that failed, and then status() says why.
  std::shared_ptr<const SignatureDatabase> of(EventSource source) const;
  SystemDatabases of_system() const {
    return {of(EventSource::kernel_log), of(EventSource::scheduler)};
  }
  /// The first error.
  Status status() const;

 private:
  const Catalog& catalog_;
  Counters& counters_;
  mutable std::mutex mutex_;
  mutable std::map<EventSource, std::shared_ptr<const SignatureDatabase>> by_source_;
  mutable Status status_ = ok_status();
};

}  // namespace faultline
