#include "catalog/catalog_parser.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/policy_parser.h"
#include "catalog/toml_reader.h"

namespace faultline {
namespace {

using Places = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t id_bytes_max = 96;
constexpr std::size_t pattern_bytes_max = 4096;
constexpr std::size_t captures_max = 24;  // half of an event's fields; the rest are the decoder's
constexpr std::int64_t wait_ms_max = 600'000;

constexpr auto class_words =
    std::to_array<std::string_view>({"gpu", "node", "link", "nic", "switch", "storage", "power",
                                     "sdc", "software", "env", "workload", "unknown"});

bool made_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  });
}

/// "gpu.fell_off_bus": a class word, a dot, a thing in snake_case.
bool valid_cause_id(std::string_view id) {
  const auto dot = id.find('.');
  if (dot == std::string_view::npos || dot + 1 == id.size() || id.size() > id_bytes_max)
    return false;
  return std::find(class_words.begin(), class_words.end(), id.substr(0, dot)) !=
             class_words.end() &&
         made_of(id.substr(dot + 1), "_");
}

bool valid_signature_id(std::string_view id) {
  return !id.empty() && id.size() <= id_bytes_max && made_of(id, "._-");
}

/// "GT-004". Its letters are large, so that no rule, cause or signature has the same id.
bool valid_case_id(std::string_view id) {
  return !id.empty() && id.size() <= id_bytes_max && id[0] >= 'A' && id[0] <= 'Z' &&
         made_of(to_lower(id), "-");
}

bool valid_capture(std::string_view name) {
  return !name.empty() && name.size() <= id_bytes_max && name[0] >= 'a' && name[0] <= 'z' &&
         made_of(name, "_");
}

/// Remembers where an id stands. Errors: it stands somewhere already.
Status claim(Places& places, const std::string& id, const std::string& place) {
  const auto [it, added] = places.emplace(id, place);
  if (added) return ok_status();
  return Error{ErrorCode::invalid_argument,
               place + ": '" + id + "' stands already at " + it->second};
}

Result<Cause> parse_cause(const toml::table& table, const std::string& file) {
  TableReader reader(table, file);
  Cause cause;
  cause.id = reader.text("id");
  cause.cause_class = reader.word<CauseClass>("class");
  cause.severity = reader.word<Severity>("severity");
  cause.remedy = reader.word<Remedy>("remedy");
  cause.summary = reader.text("summary");
  cause.explanation = reader.text("explanation");
  cause.next_step = reader.text("next_step");
  cause.cases = reader.texts("cases");
  if (!valid_cause_id(cause.id)) {
    reader.fail("id", "'id' must be <class word>.<snake_case thing>, with a class word of: " +
                          join(class_words, " "));
  }
  if (cause.summary.empty() || cause.summary.find('\n') != std::string::npos) {
    reader.fail("summary", "'summary' must be one line");
  }
  FAULTLINE_TRY(reader.finish());
  return cause;
}

/// The pattern must be RE2's and have as many groups as there are names. Whether Vectorscan takes
/// it, too, shows when the database is made.
void check_pattern(const Signature& signature, TableReader& reader) {
  RE2::Options options(RE2::Latin1);  // as the engine: a log is bytes
  options.set_log_errors(false);
  if (signature.pattern.empty() || signature.pattern.size() > pattern_bytes_max) {
    reader.fail("pattern",
                "'pattern' must have 1 to " + std::to_string(pattern_bytes_max) + " bytes");
    return;
  }
  const RE2 expression(signature.pattern, options);
  if (!expression.ok()) {
    reader.fail("pattern", "'pattern' is not RE2 syntax: " + printable(expression.error(), 200));
    return;
  }
  if (expression.NumberOfCapturingGroups() != static_cast<int>(signature.captures.size())) {
    reader.fail("pattern", "the pattern has " +
                               std::to_string(expression.NumberOfCapturingGroups()) +
                               " capture groups, 'captures' names " +
                               std::to_string(signature.captures.size()));
  }
  if (RE2::PartialMatch("", expression))
    reader.fail("pattern", "the pattern matches an empty line");
  if (!signature.filter.empty() && !RE2(signature.filter, options).ok())
    reader.fail("filter", "'filter' is not RE2 syntax");
}

void check_captures(const Signature& signature, TableReader& reader) {
  if (signature.captures.size() > captures_max) {
    reader.fail("captures", "more than " + std::to_string(captures_max) + " captures");
  }
  for (const auto& name : signature.captures) {
    if (!valid_capture(name)) {
      reader.fail("captures", "'" + printable(name, 40) + "' is not a snake_case capture name");
    }
  }
}

/// The kinds of subject that a line can name; the rest follow from the job.
bool valid_subject(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::node:
    case SubjectKind::gpu:
    case SubjectKind::nic:
    case SubjectKind::link:
    case SubjectKind::network_switch:
    case SubjectKind::storage:
    case SubjectKind::job:
    case SubjectKind::rank: return true;
    case SubjectKind::cluster:
    case SubjectKind::rack:
    case SubjectKind::attempt:
    case SubjectKind::communicator:
    case SubjectKind::data_parallel_group: return false;
  }
  return false;
}

Result<Signature> parse_signature(const toml::table& table, const std::string& file) {
  TableReader reader(table, file);
  Signature signature;
  signature.id = reader.text("id");
  signature.layer = reader.word<Layer>("layer");
  signature.pattern = reader.text("pattern");
  signature.filter = reader.text_or("filter", "");
  signature.captures = reader.texts_or_none("captures");
  signature.cause = reader.text("cause");
  signature.use = reader.word_or<SignatureUse>("use", SignatureUse::primary);
  signature.role = reader.word<Role>("role");
  signature.strength = reader.word_or<Strength>("strength", Strength::ambiguous);
  signature.severity = reader.word<Severity>("severity");
  signature.subject = reader.word<SubjectKind>("subject");
  const auto milliseconds = [&](std::string_view key) {
    return reader.integer_or(key, 0, 0, wait_ms_max) * std::chrono::milliseconds{1};
  };
  signature.settle = milliseconds("settle_ms");
  signature.clears_within = milliseconds("clears_within_ms");
  signature.clears = reader.text_or("clears", "");
  signature.note = reader.text_or("note", "");
  signature.source = reader.text("source");
  if (!valid_signature_id(signature.id))
    reader.fail("id", "'id' must be of a-z, 0-9, '.', '_' and '-'");
  if (!valid_subject(signature.subject)) {
    reader.fail("subject", "'subject' must be one of: node gpu nic link switch storage job rank");
  }
  if (reader.has("strength") && signature.role != Role::root) {
    reader.fail("strength", "'strength' is only for role = \"root\"");
  }
  if ((signature.use == SignatureUse::clears) == signature.clears.empty()) {
    reader.fail("clears", "'clears' names a signature if, and only if, use = \"clears\"");
  }
  if (reader.has(signature.clears.empty() ? "clears_within_ms" : "settle_ms")) {
    reader.fail("use",
                "'clears_within_ms' is for use = \"clears\", and 'settle_ms' for all others");
  }
  check_captures(signature, reader);
  check_pattern(signature, reader);
  FAULTLINE_TRY(reader.finish());
  return signature;
}

Result<RuleText> parse_rule_text(const toml::table& table, const std::string& file) {
  TableReader reader(table, file);
  RuleText rule;
  rule.id = reader.text("id");
  rule.detector = reader.text("detector");
  rule.summary = reader.text("summary");
  rule.reasoning = reader.text("reasoning");
  rule.source = reader.text("source");
  if (!valid_capture(rule.id)) reader.fail("id", "'id' must be snake_case");
  if (rule.summary.empty() || rule.summary.find('\n') != std::string::npos)
    reader.fail("summary", "'summary' must be one line");
  FAULTLINE_TRY(reader.finish());
  return rule;
}

/// A terminal makes a link of it, and a page a reference: neither may be made to run anything.
bool valid_link(std::string_view link) {
  return link.starts_with("https://") && std::all_of(link.begin(), link.end(), [](char c) {
           return c > ' ' && c < '\x7F' && c != '"' && c != '<' && c != '>';
         });
}

Result<PublicCase> parse_public_case(const toml::table& table, const std::string& file) {
  TableReader reader(table, file);
  PublicCase told;
  told.id = reader.text("id");
  told.title = reader.text("title");
  told.by = reader.text("by");
  told.link = reader.text_or("link", "");
  if (!valid_case_id(told.id)) reader.fail("id", "'id' must be of A-Z, 0-9 and '-'");
  if (told.title.empty() || told.title.find('\n') != std::string::npos)
    reader.fail("title", "'title' must be one line");
  if (reader.has("link") && !valid_link(told.link))
    reader.fail("link", "'link' must be an https:// address");
  FAULTLINE_TRY(reader.finish());
  return told;
}

Error unknown_name(const std::string& place, std::string_view what, const std::string& name) {
  return {ErrorCode::invalid_argument,
          place + ": no " + std::string(what) + " '" + printable(name, id_bytes_max) + "'"};
}

template <class Named>
void sort_by_id(std::vector<Named>& list) {
  std::sort(list.begin(), list.end(),
            [](const Named& left, const Named& right) { return left.id < right.id; });
}

}  // namespace

Status CatalogParser::add_causes(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document.ok()) return document.error();
  return for_each_table(*document, file, "cause", {}, [&](const toml::table& table) -> Status {
    auto cause = parse_cause(table, file);
    if (!cause.ok()) return cause.error();
    FAULTLINE_TRY(claim(cause_places_, cause->id, place_of(table, file)));
    catalog_.causes_.push_back(std::move(cause).value());
    return ok_status();
  });
}

Status CatalogParser::add_signatures(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document.ok()) return document.error();
  return for_each_table(*document, file, "signature", {}, [&](const toml::table& table) -> Status {
    auto signature = parse_signature(table, file);
    if (!signature.ok()) return signature.error();
    FAULTLINE_TRY(claim(signature_places_, signature->id, place_of(table, file)));
    catalog_.signatures_.push_back(std::move(signature).value());
    return ok_status();
  });
}

Status CatalogParser::add_rules(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document.ok()) return document.error();
  return for_each_table(*document, file, "rule", {}, [&](const toml::table& table) -> Status {
    auto rule = parse_rule_text(table, file);
    if (!rule.ok()) return rule.error();
    FAULTLINE_TRY(claim(rule_text_places_, rule->id, place_of(table, file)));
    catalog_.rules_.push_back(std::move(rule).value());
    return ok_status();
  });
}

Status CatalogParser::add_public_cases(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document.ok()) return document.error();
  return for_each_table(*document, file, "case", {}, [&](const toml::table& table) -> Status {
    auto told = parse_public_case(table, file);
    if (!told.ok()) return told.error();
    FAULTLINE_TRY(claim(public_case_places_, told->id, place_of(table, file)));
    catalog_.public_cases_.push_back(std::move(told).value());
    return ok_status();
  });
}

Status CatalogParser::add_policies(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document.ok()) return document.error();
  if (const toml::node* node = document->get("limits")) {
    const std::string place = place_of(*node, file);
    if (!limits_place_.empty()) {
      return Error{ErrorCode::invalid_argument,
                   place + ": [limits] stands already at " + limits_place_};
    }
    limits_place_ = place;
    const auto* table = node->as_table();
    if (table == nullptr)
      return Error{ErrorCode::invalid_argument, place + ": 'limits' must be a table"};
    FAULTLINE_TRY(parse_policy_limits(*table, file, catalog_.policy_.limits));
  }
  return for_each_table(
      *document, file, "rule", {"limits"}, [&](const toml::table& table) -> Status {
        auto rule = parse_policy_rule(table, file);
        if (!rule.ok()) return rule.error();
        FAULTLINE_TRY(claim(rule_places_, policy_rule_key(*rule), place_of(table, file)));
        catalog_.policy_.rules.push_back(std::move(rule).value());
        return ok_status();
      });
}

Result<Catalog> CatalogParser::finish() {
  for (const auto& signature : catalog_.signatures_) {
    const std::string& place = signature_places_.find(signature.id)->second;
    if (!cause_places_.contains(signature.cause))
      return unknown_name(place, "cause", signature.cause);
    if (!signature.clears.empty() && !signature_places_.contains(signature.clears)) {
      return unknown_name(place, "signature", signature.clears);
    }
  }
  for (const auto& rule : catalog_.policy_.rules) {
    if (!rule.cause.empty() && !cause_places_.contains(rule.cause)) {
      return unknown_name(rule_places_.find(policy_rule_key(rule))->second, "cause", rule.cause);
    }
  }
  for (const auto& cause : catalog_.causes_) {
    for (const auto& told : cause.cases) {
      if (!public_case_places_.empty() && !public_case_places_.contains(told))
        return unknown_name(cause_places_.find(cause.id)->second, "public case", told);
    }
  }
  sort_by_id(catalog_.causes_);
  sort_by_id(catalog_.public_cases_);
  sort_by_id(catalog_.signatures_);
  sort_by_id(catalog_.rules_);
  return std::move(catalog_);
}

}  // namespace faultline
