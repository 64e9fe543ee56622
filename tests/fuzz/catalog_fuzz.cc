// The catalog's parsers: any text is a catalog or an error of one line, and never more than that.
// Input: one text, given to each of the three parsers.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "catalog/catalog_parser.h"

namespace {

using namespace faultline;

void check_error(const Error& error) {
  FAULTLINE_CHECK(error.code == ErrorCode::invalid_argument);
  FAULTLINE_CHECK(error.message.starts_with("file"));
  FAULTLINE_CHECK(error.message.find('\n') == std::string::npos);
}

void check_catalog(const Catalog& catalog) {
  FAULTLINE_CHECK(!catalog.fingerprint().empty());
  for (const auto& cause : catalog.causes()) FAULTLINE_CHECK(catalog.cause(cause.id) == &cause);
  for (const auto& signature : catalog.signatures()) {
    FAULTLINE_CHECK(catalog.signature(signature.id) == &signature);
    FAULTLINE_CHECK(catalog.cause(signature.cause) != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CatalogParser parser;
  bool good = true;
  for (const auto add :
       {&CatalogParser::add_causes, &CatalogParser::add_signatures, &CatalogParser::add_policies}) {
    CatalogParser alone;
    if (const auto status = (alone.*add)(text, "file"); !status.ok()) check_error(status.error());
  }
  // A text with causes and signatures both is none of either; two parts are divided by a line of
  // dashes.
  const auto cut = text.find("\n----\n");
  if (cut == std::string_view::npos) return 0;
  for (const auto& status : {parser.add_causes(text.substr(0, cut), "file"),
                             parser.add_signatures(text.substr(cut + 6), "file")}) {
    if (!status.ok()) check_error(status.error());
    good = good && status.ok();
  }
  if (!good) return 0;
  const auto catalog = parser.finish();
  if (catalog.ok()) {
    check_catalog(*catalog);
  } else {
    check_error(catalog.error());
  }
  return 0;
}
