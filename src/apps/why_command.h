// `faultline why ID`: walks action -> decision -> verdict -> events -> raw lines.
#pragma once

#include "apps/query_command.h"

namespace faultline {

void add_why_command(CLI::App& app, QueryOptions& options);
int why_main(const QueryOptions& options);

}  // namespace faultline
