// Where the catalog is: --catalog, else FAULTLINE_CATALOG, else beside a build tree's program, else
// where it is installed.
#pragma once

#include <filesystem>
#include <string>

#include "catalog/catalog.h"

namespace faultline {

std::filesystem::path catalog_folder(const std::string& given);
Result<Catalog> load_catalog(const std::string& given);

}  // namespace faultline
