// Text of catalog files -> Catalog. Catalog::load reads the files; tests and fuzzers come here with
// text.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"

namespace faultline {

/// Collects the files of a catalog, then checks them against each other. Not thread-safe. `file` is
/// only for messages. Errors: invalid_argument, one line "file:line: what"; after one the parser is
/// of no use.
class CatalogParser {
 public:
  Status add_causes(std::string_view text, const std::string& file);
  Status add_signatures(std::string_view text, const std::string& file);
  Status add_rules(std::string_view text, const std::string& file);
  Status add_public_cases(std::string_view text, const std::string& file);
  Status add_policies(std::string_view text, const std::string& file);

  /// What only the whole shows: causes that signatures and rules name, signatures that `clears`
  /// names, public cases that causes name where any were added. Call once.
  Result<Catalog> finish();

 private:
  Catalog catalog_;
  std::map<std::string, std::string, std::less<>> cause_places_;  // id -> "file:line"
  std::map<std::string, std::string, std::less<>> signature_places_;
  std::map<std::string, std::string, std::less<>> rule_text_places_;
  std::map<std::string, std::string, std::less<>> public_case_places_;
  std::map<std::string, std::string, std::less<>> rule_places_;  // "cause x" or "remedy x"
  std::string limits_place_;
};

}  // namespace faultline
