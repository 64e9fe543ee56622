#include "catalog/catalog.h"

#include <algorithm>
#include <system_error>

#include "base/hash.h"
#include "base/small_file.h"
#include "catalog/catalog_parser.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t file_bytes_max = 16 * 1024 * 1024;  // far above any catalog file

using AddFile = Status (CatalogParser::*)(std::string_view text, const std::string& file);

Result<std::vector<fs::path>> toml_files_in(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().extension() == ".toml") files.push_back(it->path());
  }
  if (failed)
    return Error{ErrorCode::not_found,
                 "catalog folder " + folder.string() + ": " + failed.message()};
  if (files.empty())
    return Error{ErrorCode::not_found, "catalog folder " + folder.string() + " has no *.toml"};
  std::sort(files.begin(), files.end());
  return files;
}

Status add_folder(CatalogParser& parser, const fs::path& folder, AddFile add) {
  const auto files = toml_files_in(folder);
  if (!files.ok()) return files.error();
  for (const auto& file : *files) {
    const auto text = read_small_file(file, file_bytes_max);
    if (!text.ok()) return text.error();
    FAULTLINE_TRY((parser.*add)(*text, file.string()));
  }
  return ok_status();
}

template <class Named>
const Named* find_by_id(const std::vector<Named>& list, std::string_view id) {
  const auto it = std::lower_bound(
      list.begin(), list.end(), id,
      [](const Named& entry, std::string_view wanted) { return entry.id < wanted; });
  return it == list.end() || it->id != id ? nullptr : &*it;
}

}  // namespace

Result<Catalog> Catalog::load(const fs::path& folder) {
  CatalogParser parser;
  FAULTLINE_TRY(add_folder(parser, folder / "causes", &CatalogParser::add_causes));
  FAULTLINE_TRY(add_folder(parser, folder / "signatures", &CatalogParser::add_signatures));
  // Explanations for people: a site's own catalog may do without.
  std::error_code unreadable;
  if (fs::exists(folder / "rules", unreadable))
    FAULTLINE_TRY(add_folder(parser, folder / "rules", &CatalogParser::add_rules));
  if (fs::exists(folder / "cases", unreadable))
    FAULTLINE_TRY(add_folder(parser, folder / "cases", &CatalogParser::add_public_cases));
  FAULTLINE_TRY(add_folder(parser, folder / "policies", &CatalogParser::add_policies));
  return parser.finish();
}

const Cause* Catalog::cause(std::string_view id) const { return find_by_id(causes_, id); }

const Signature* Catalog::signature(std::string_view id) const {
  return find_by_id(signatures_, id);
}

const RuleText* Catalog::rule(std::string_view id) const { return find_by_id(rules_, id); }

const PublicCase* Catalog::public_case(std::string_view id) const {
  return find_by_id(public_cases_, id);
}

std::string Catalog::fingerprint() const {
  StableHash hash;
  for (const auto& signature : signatures_) {
    hash.add(signature.id)
        .add(signature.pattern)
        .add(signature.filter)
        .add(to_text(signature.layer));
  }
  return hash.hex();
}

std::vector<ActionKind> PolicyBook::actions_for(std::string_view cause, Remedy remedy) const {
  const PolicyRule* found = nullptr;
  for (const auto& rule : rules) {
    if (!rule.cause.empty() && rule.cause == cause) return rule.actions;
    if (rule.remedy == remedy) found = &rule;
  }
  return found == nullptr ? std::vector<ActionKind>{} : found->actions;
}

}  // namespace faultline
