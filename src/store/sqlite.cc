#include "store/sqlite.h"

#include <sys/stat.h>

#include "base/text.h"

namespace faultline::sqlite {
namespace {

// A reader (`faultline why`) may hold a lock for a moment; a writer waits this long before it gives
// up.
constexpr int busy_timeout_ms = 5000;

Error damaged_store(sqlite3* handle, const std::string& how) {
  const char* file = sqlite3_db_filename(handle, "main");
  return damaged(how).with_context(file == nullptr ? "" : file);
}

}  // namespace

Error damaged(const std::string& how) {
  // SQLite's answers to a check have several lines.
  return {ErrorCode::corrupt,
          "the store is damaged: move it aside, with its -wal, and put back a copy made by "
          "`faultline store backup` (" +
              join(split(how, '\n'), "; ") + ")"};
}

Error error_of(sqlite3* handle) {
  const std::string text = sqlite3_errmsg(handle);
  switch (sqlite3_errcode(handle)) {
    case SQLITE_FULL:
      return {ErrorCode::exhausted, "the store's disk is full: free space on it (" + text + ")"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return damaged_store(handle, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {
          ErrorCode::unavailable,
          "the store is locked by another process: try again, or end what holds it (" + text + ")"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return {ErrorCode::permission_denied,
              "the store cannot be opened or written: it must be a file of the user that runs "
              "this, in a folder where that user may write; a copy of one can be copied there (" +
                  text + ")"};
    case SQLITE_CONSTRAINT: return {ErrorCode::conflict, text};
    case SQLITE_IOERR:
      return {ErrorCode::unavailable,
              "reading or writing the store failed: is its disk well? (" + text + ")"};
    default:
      // Bodies are read by SQL too, and are written as JSON alone.
      if (text == "malformed JSON") return damaged_store(handle, "a record is not JSON");
      return {ErrorCode::internal, "store: " + text};
  }
}

Statement::~Statement() {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text(handle_, next_++, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(handle_, next_++, number);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(handle_));
}

Status Statement::run() {
  const auto row = step();
  if (!row) return row.error();
  return ok_status();
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

Error Statement::damaged_row(const Error& error) const {
  return damaged_store(sqlite3_db_handle(handle_), "a record cannot be read: " + error.message);
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file,
                                                 bool read_only) {
  sqlite3* handle = nullptr;
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return error_of(handle).with_context(file.string());
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

std::optional<Database::FileId> Database::file_id(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

Status Database::check_in_place() {
  const char* path = sqlite3_db_filename(handle_, "main");
  int moved = 0;
  // One stat of the path against the file that is open.
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  // SQLite does not ask that of the log. It opens it with the first statement and keeps it open, so
  // that its inode is not given away.
  const char* log_path = sqlite3_filename_wal(path);
  const auto log = file_id(log_path);
  if (!log_) log_ = log;
  if (moved == 0 && log == log_) return ok_status();
  return Error{ErrorCode::unavailable,
               std::string("the database under ") + (moved != 0 ? path : log_path) +
                   " was replaced or deleted while it was open: nothing is written into the old "
                   "one; put it back or restart to use what is there now"};
}

Result<Statement> Database::prepare(const char* sql) {
  FAULTLINE_TRY(check_in_place());
  auto& statement = prepared_[sql];
  if (statement == nullptr && sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                 &statement, nullptr) != SQLITE_OK) {
    prepared_.erase(sql);
    return error_of(handle_);
  }
  return Statement(statement);
}

Status Database::execute(const std::string& script) {
  if (sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return error_of(handle_);
  return ok_status();
}

std::int64_t Database::changes() const { return sqlite3_changes64(handle_); }

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_); }

Status Database::copy_to(const std::filesystem::path& file) {
  auto target = open(file, false);
  if (!target) return target.error();
  // As the store itself: its owner's alone.
  std::error_code error;
  namespace fs = std::filesystem;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  if (error) return Error{ErrorCode::permission_denied, file.string() + ": " + error.message()};
  sqlite3_backup* backup = sqlite3_backup_init((*target)->handle_, "main", handle_, "main");
  if (backup == nullptr) return error_of((*target)->handle_);
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return error_of((*target)->handle_);
  // Without a log to look for, the copy can be read in a folder that cannot be written.
  return (*target)->execute("PRAGMA journal_mode = DELETE");
}

Result<Transaction> Transaction::begin(Database& database) {
  FAULTLINE_TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // A failed rollback means that SQLite has rolled back by itself (full disk, I/O error).
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK").ok());
}

Status Transaction::commit() {
  FAULTLINE_TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return ok_status();
}

}  // namespace faultline::sqlite
