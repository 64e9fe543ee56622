#include "store/store.h"

#include <algorithm>

#include "base/small_file.h"
#include "store/schema.h"
#include "store/sqlite_store.h"
#include "store/write_ahead_log.h"

namespace faultline {
namespace {

/// Files above this are not checked page by page at start: that would cost more than the second a
/// start may take.
constexpr std::uintmax_t full_check_bytes_max = 32ULL << 20;

using sqlite::damaged;

/// SQLite's own complaints name the file already.
Error in_file(const Error& error, const std::filesystem::path& file) {
  const bool named = error.message.find(file.filename().string()) != std::string::npos;
  return named ? error : error.with_context(file.string());
}

/// 0 if there is none.
std::uintmax_t bytes_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

/// SQLite throws a log away whose database is empty, with all that was committed into it.
Status check_not_emptied(const std::filesystem::path& file) {
  if (bytes_of(file) > 0 || bytes_of(log_of(file)) == 0) return ok_status();
  return damaged("it is empty or missing, and its log is not");
}

/// A text (a script, a configuration) was never a store; what is not even text may be one, damaged.
Status check_no_text(const std::filesystem::path& file) {
  constexpr std::size_t head_bytes = 16;  // a database's ends with a zero
  constexpr std::uintmax_t text_bytes_max = 1 << 20;
  if (bytes_of(file) > text_bytes_max) return ok_status();
  const auto read = read_small_file(file, text_bytes_max);
  if (!read || read->empty()) return ok_status();
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  const std::string_view head = std::string_view(*read).substr(0, head_bytes);
  const bool cut = std::string_view("SQLite format 3").starts_with(head);
  if (cut || !std::all_of(head.begin(), head.end(), is_text)) return ok_status();
  return Error{ErrorCode::invalid_argument,
               "it is a text, another program's file, and was left as it is: --store names a file "
               "of faultline's own"};
}

/// Copied without the log that it begins in, a store looks like a new one.
Status check_log_came_along(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::exists(log_of(file), ignored) || !begins_in_its_log(file))
    return ok_status();
  return Error{ErrorCode::corrupt,
               "all that was in it was in its log, " + log_of(file).string() +
                   ", which is not there: copy both while `faultline serve` is stopped, or make "
                   "the copy with `faultline store backup`; if it never was in use, remove it"};
}

/// SQLite reads what is missing of the last page as zeros. While there is a log, a page that is
/// half written is written again from it.
Status check_whole_pages(sqlite::Database& database, const std::filesystem::path& file) {
  if (bytes_of(log_of(file)) > 0) return ok_status();
  auto statement = database.prepare("PRAGMA page_size");
  if (!statement) return statement.error();
  const auto row = statement.value().step();
  if (!row) return row.error();
  const auto page_bytes = static_cast<std::uintmax_t>(statement->integer(0));
  if (page_bytes > 0 && bytes_of(file) % page_bytes == 0) return ok_status();
  return damaged("its last page is cut");
}

/// A file cut short opens without complaint and fails later, at the worst moment; so it is looked
/// at here.
Status check_intact(sqlite::Database& database, const std::filesystem::path& file) {
  FAULTLINE_TRY(check_whole_pages(database, file));
  if (bytes_of(file) > full_check_bytes_max) return ok_status();
  auto statement = database.prepare("PRAGMA quick_check(1)");
  if (!statement) return statement.error();
  const auto row = statement.value().step();
  if (!row) return row.error();
  const std::string answer = *row ? statement->text(0) : "no answer";
  if (answer == "ok") return ok_status();
  return damaged(answer);
}

Status prepare_for_writing(sqlite::Database& database, const std::filesystem::path& file) {
  // FULL: a commit is on disk when it returns, which the intent journal relies on.
  FAULTLINE_TRY(database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"));
  // What SQLite does not take of a damaged log stays behind the next commits, and would be found
  // again as damage after each of them.
  if (log_is_kept(file)) FAULTLINE_TRY(database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  return sqlite::migrate(database, file);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& file, Access access) {
  const bool read_only = access == Access::read_only;
  std::error_code ignored;
  if (file.empty())
    return Error{ErrorCode::invalid_argument, "--store is empty: it names the database"};
  if (read_only && !std::filesystem::exists(file, ignored)) {
    return Error{ErrorCode::not_found,
                 file.string() +
                     " does not exist: is `faultline serve` running on this host, or does it keep "
                     "its store elsewhere (--store)?"};
  }
  const auto kind = std::filesystem::status(file, ignored).type();
  if (kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::not_found) {
    return Error{ErrorCode::invalid_argument,
                 file.string() + " is not a file: --store names the database itself"};
  }
  if (const auto there = check_not_emptied(file); !there) return in_file(there.error(), file);
  if (const auto whole = check_log_came_along(file); !whole) return in_file(whole.error(), file);
  if (const auto no_text = check_no_text(file); !no_text) return in_file(no_text.error(), file);
  auto database = sqlite::Database::open(file, read_only);
  if (!database) return database.error();
  if (const auto intact = check_intact(**database, file); !intact)
    return in_file(intact.error(), file);
  if (const auto ours = sqlite::check_ours(**database); !ours) return in_file(ours.error(), file);
  // Who may write the store may approve and return: it is its owner's alone
  // (docs/decisions/0005-people.md).
  if (!read_only)
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  const auto ready =
      read_only ? sqlite::check_readable(**database) : prepare_for_writing(**database, file);
  if (!ready) return in_file(ready.error(), file);
  return std::unique_ptr<Store>(new SqliteStore(std::move(database).value()));
}

}  // namespace faultline
