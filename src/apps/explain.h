// What the catalog says of a rule, a cause, a signature or a public case, as Markdown: for
// `diagnose --explain` and for docs/reference.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"

namespace faultline {

/// `name`: an id, or "rules", "causes" and "cases" for all of them. Errors: not_found, with what
/// was probably meant.
Result<std::string> explain(const Catalog& catalog, const std::string& name);

}  // namespace faultline
