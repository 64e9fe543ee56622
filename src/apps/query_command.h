// `faultline nodes|jobs|incidents|verdicts|actions|silences`: reads the controller's store; works
// while the controller is down.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "model/cluster_view.h"
#include "store/store.h"
#include "store/write_ahead_log.h"

namespace faultline {

inline constexpr const char* default_store_file = "/var/lib/faultline/faultline.db";

struct QueryOptions {
  std::string store = default_store_file;
  std::string catalog;
  bool json = false;
  bool all = false;
  std::size_t limit = 50;
  std::string id;
};

/// The store, for a question. What is wrong with its log is said first, on standard error: it is
/// answered from what is left.
Result<std::unique_ptr<Store>> open_to_ask(const std::string& file, Examine how = Examine::look);

/// The scheduler's nodes as the controller saw them last; none before it did.
Result<std::vector<SchedulerNode>> scheduler_nodes(Store& store);

/// Adds --store and --json, which every question takes.
void add_store_options(CLI::App& command, QueryOptions& options);
void add_query_commands(CLI::App& app, QueryOptions& options);
/// The verb that was given, or nullptr-like -1 if it is none of these.
int query_main(const std::string& verb, const QueryOptions& options);

}  // namespace faultline
