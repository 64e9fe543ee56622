// Every rule that can have the answer is explained in catalog/rules, and nothing else is.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "detect/detector.h"
#include "detect/failure_case.h"
#include "diagnose/warnings.h"
#include "tests/cases/detect_story.h"

namespace faultline {
namespace {

TEST(Rules, AreExplainedInTheCatalog) {
  const Catalog& catalog = ShippedSignatures::get().catalog();
  std::set<std::string> named{"nothing_known", std::string(warning_rule)};
  for (const NamedRule& rule : failure_rules()) named.emplace(rule.name);
  for (const auto& detector : make_detectors(catalog)) {
    // Attribution's answers carry the names of its rules.
    if (detector->name() != "attribution") named.emplace(detector->name());
  }
  std::set<std::string> explained;
  for (const RuleText& rule : catalog.rules()) explained.insert(rule.id);
  EXPECT_EQ(explained, named);
}

}  // namespace
}  // namespace faultline
