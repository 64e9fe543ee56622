// Where the catalog is: --catalog, else FAULTLINE_CATALOG, else beside a build tree's program, else
// where it is installed.
#pragma once

#include <filesystem>
#include <string>

#include "catalog/catalog.h"

namespace faultline {

inline constexpr const char* catalog_help =
    "Folder of the catalog (or FAULTLINE_CATALOG; default: the one shipped)";

std::filesystem::path catalog_folder(const std::string& given);
Result<Catalog> load_catalog(const std::string& given);

}  // namespace faultline
