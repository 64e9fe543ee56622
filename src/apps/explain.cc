#include "apps/explain.h"

#include <vector>

#include "base/contains.h"
#include "base/nearest.h"
#include "base/text.h"

namespace faultline {
namespace {

std::string heading(const std::string& id, const std::string& summary) {
  return "## " + id + "\n\n" + summary + ".\n\n";
}

std::string rule_text(const RuleText& rule) {
  return heading(rule.id, rule.summary) + std::string(trim(rule.reasoning)) +
         "\n\nDetector: " + rule.detector + ". Source: " + rule.source + ".\n";
}

std::string cause_text(const Cause& cause, const Catalog& catalog) {
  std::vector<std::string> signatures;
  for (const Signature& signature : catalog.signatures()) {
    if (signature.cause == cause.id) signatures.push_back(signature.id);
  }
  std::string text = heading(cause.id, cause.summary) + std::string(trim(cause.explanation)) +
                     "\n\nDo: " + std::string(trim(cause.next_step)) + "\n\nClass " +
                     std::string(to_text(cause.cause_class)) + ", severity " +
                     std::string(to_text(cause.severity)) + ", remedy " +
                     std::string(to_text(cause.remedy)) + ".";
  if (!signatures.empty()) text += " Signatures: " + join(signatures, ", ") + ".";
  if (!cause.cases.empty()) text += " Public cases: " + join(cause.cases, ", ") + ".";
  return text + "\n";
}

std::string public_case_text(const PublicCase& told, const Catalog& catalog) {
  std::vector<std::string> causes;
  for (const Cause& cause : catalog.causes()) {
    if (contains(cause.cases, told.id)) causes.push_back(cause.id);
  }
  std::string text = heading(told.id, told.title) + "Public case, told by " + told.by + ".";
  if (!causes.empty()) text += " Causes like it: " + join(causes, ", ") + ".";
  if (!told.link.empty()) text += "\n\nSource: " + told.link;
  return text + "\n";
}

std::string signature_text(const Signature& signature) {
  return heading(signature.id, "A line of layer " + std::string(to_text(signature.layer)) +
                                   " that means " + signature.cause) +
         "```\n" + signature.pattern + "\n```\n\nRole " + std::string(to_text(signature.role)) +
         ", severity " + std::string(to_text(signature.severity)) + "." +
         (signature.note.empty() ? "" : " " + signature.note) + "\n\nSource: " + signature.source +
         ".\n";
}

template <class List, class Text>
std::string all_of(const char* title, const List& list, Text text) {
  std::string page = std::string("# ") + title + "\n";
  for (const auto& entry : list) page += "\n" + text(entry);
  return page;
}

}  // namespace

Result<std::string> explain(const Catalog& catalog, const std::string& name) {
  if (name == "rules") return all_of("Rules", catalog.rules(), rule_text);
  if (name == "causes") {
    return all_of("Causes", catalog.causes(),
                  [&](const Cause& cause) { return cause_text(cause, catalog); });
  }
  if (name == "cases") {
    return all_of("Public cases", catalog.public_cases(),
                  [&](const PublicCase& told) { return public_case_text(told, catalog); });
  }
  if (const RuleText* rule = catalog.rule(name)) return rule_text(*rule);
  if (const Cause* cause = catalog.cause(name)) return cause_text(*cause, catalog);
  if (const Signature* signature = catalog.signature(name)) return signature_text(*signature);
  if (const PublicCase* told = catalog.public_case(name)) return public_case_text(*told, catalog);
  std::vector<std::string> known{"rules", "causes", "cases"};
  for (const RuleText& rule : catalog.rules()) known.push_back(rule.id);
  for (const Cause& cause : catalog.causes()) known.push_back(cause.id);
  for (const Signature& signature : catalog.signatures()) known.push_back(signature.id);
  for (const PublicCase& told : catalog.public_cases()) known.push_back(told.id);
  return Error{ErrorCode::not_found, "no rule, cause, signature or public case '" +
                                         printable(name, 80) + "'" + did_you_mean(name, known) +
                                         "; --explain rules, causes and cases list them"};
}

}  // namespace faultline
