// Turning rows with a JSON body into nouns. A body that does not read is an error that names the
// file, never a crash.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/json.h"
#include "store/sqlite.h"

namespace faultline::sqlite {

template <class Noun>
using Decode = Result<Noun> (*)(const nlohmann::json&);

template <class Noun>
Result<Noun> decode_body(const std::string& body, Decode<Noun> decode) {
  const auto json = parse_json(body);
  return json ? decode(*json) : Result<Noun>(json.error());
}

/// Every row's column 0 as a noun.
template <class Noun>
Result<std::vector<Noun>> read_all(Statement statement, Decode<Noun> decode) {
  std::vector<Noun> nouns;
  while (true) {
    const auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return nouns;
    auto noun = decode_body<Noun>(statement.text(0), decode);
    if (!noun) return statement.damaged_row(noun.error());
    nouns.push_back(std::move(noun).value());
  }
}

template <class Noun>
Result<std::optional<Noun>> read_one(Statement statement, Decode<Noun> decode) {
  auto nouns = read_all<Noun>(std::move(statement), decode);
  if (!nouns) return nouns.error();
  if (nouns->empty()) return std::optional<Noun>{};
  return std::optional<Noun>(std::move(nouns.value().front()));
}

inline std::int64_t ns(Instant instant) { return instant.time_since_epoch().count(); }

}  // namespace faultline::sqlite

/// Prepares SQL into NAME, or returns the error.
#define FAULTLINE_SQL(NAME, SQL)                    \
  auto NAME##_result = database_->prepare(SQL);     \
  if (!NAME##_result) return NAME##_result.error(); \
  auto& NAME = NAME##_result.value()
