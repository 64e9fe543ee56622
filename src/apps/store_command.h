// `faultline store backup|check`: a consistent copy while the controller runs, and whether the
// store is whole.
#pragma once

#include "apps/query_command.h"

namespace faultline {

struct StoreOptions {
  QueryOptions query;
  std::string verb;  // backup, check; set by the parser
  std::string to;
};

void add_store_command(CLI::App& app, StoreOptions& options);
int store_main(const StoreOptions& options);

}  // namespace faultline
