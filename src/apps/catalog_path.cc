#include "apps/catalog_path.h"

#include <cstdlib>

#ifndef FAULTLINE_INSTALL_CATALOG_DIR
#define FAULTLINE_INSTALL_CATALOG_DIR "/usr/share/faultline/catalog"
#endif

namespace faultline {

std::filesystem::path catalog_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("FAULTLINE_CATALOG"); named != nullptr && *named != '\0')
    return named;
  std::error_code error;
  // A program in build/<preset>/bin uses the catalog of its own tree; an unpacked archive has it in
  // share/.
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* beside : {"../../../catalog", "../share/faultline/catalog"}) {
    const auto folder = (program.parent_path() / beside).lexically_normal();
    if (!error && std::filesystem::is_directory(folder / "causes", error)) return folder;
    error.clear();
  }
  return FAULTLINE_INSTALL_CATALOG_DIR;
}

Result<Catalog> load_catalog(const std::string& given) {
  const auto folder = catalog_folder(given);
  auto catalog = Catalog::load(folder);
  if (!catalog)
    return catalog.error().with_context("catalog " + folder.string() +
                                        " (--catalog names another)");
  return catalog;
}

}  // namespace faultline
