// A thin owner of SQLite handles: errors become values, statements are prepared once. Not
// thread-safe; the store locks.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace faultline::sqlite {

/// A bound and stepped statement. Borrowed from its Database, given back (reset) when destroyed.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), next_(other.next_) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Binds the next parameter. Text is copied.
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);

  /// True while there is a row.
  Result<bool> step();
  /// Steps a statement that gives no rows.
  Status run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  /// What to say of this row, whose text was `error` to read.
  [[nodiscard]] Error damaged_row(const Error& error) const;

 private:
  sqlite3_stmt* handle_;
  int next_ = 1;
};

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file, bool read_only);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// `sql` must be a string literal: it is the key of the cache of prepared statements.
  /// unavailable if the file, or its write-ahead log, is not the one under its path any more: what
  /// went into it would be lost, and what came out of it is not what others see.
  Result<Statement> prepare(const char* sql);
  Status execute(const std::string& script);
  /// Rows changed by the last statement.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_row() const;
  /// A consistent copy of the whole database.
  Status copy_to(const std::filesystem::path& file);

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device and inode
  static std::optional<FileId> file_id(const char* path);
  explicit Database(sqlite3* handle) : handle_(handle) {}
  Status check_in_place();
  sqlite3* handle_;
  std::map<const char*, sqlite3_stmt*> prepared_;
  std::optional<FileId> log_;  // the write-ahead log as it was seen first
};

/// corrupt, with what to do. `how` is for whoever looks into it.
Error damaged(const std::string& how);

/// The current error of `handle` as a value: full disk, damage, busy and the rest told apart, with
/// what to do.
Error error_of(sqlite3* handle);

/// Rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  /// Durable on return.
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace faultline::sqlite
