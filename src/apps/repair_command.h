// `faultline repair-record NODE`: what one sends to the vendor of a broken node: which part, what
// is wrong with it, the raw lines that show it, and what was tried.
#pragma once

#include "apps/query_command.h"

namespace faultline {

void add_repair_command(CLI::App& app, QueryOptions& options);
int repair_main(const QueryOptions& options);

}  // namespace faultline
