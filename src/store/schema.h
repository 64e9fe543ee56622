// The schema and its migrations. A migration, once released, is never edited; a new one is
// appended.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "store/sqlite.h"

namespace faultline::sqlite {

/// Brings the database to the newest version; before changing one with data in it copies it to
/// FILE.before-vN. unavailable if a newer faultline wrote it.
Status migrate(Database& database, const std::filesystem::path& file);

/// The same for one that is only read; not_found if there is nothing in it.
Status check_readable(Database& database);

/// invalid_argument if another program made it. Changes nothing.
Status check_ours(Database& database);

/// Refuses a version that this program does not read.
Status check_version(Database& database);

}  // namespace faultline::sqlite
