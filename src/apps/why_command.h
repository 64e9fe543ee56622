// `faultline why ID`: walks action -> decision -> verdict -> events -> raw lines.
#pragma once

#include "apps/query_command.h"

namespace faultline {

void add_why_command(CLI::App& app, QueryOptions& options);
int why_main(const QueryOptions& options);

/// An event as people read it: who said it and when, the part's identity, and the raw line or the
/// fields.
std::string event_lines(const Event& event, std::string_view role);

}  // namespace faultline
