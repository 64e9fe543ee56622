// JsonReader: reads the members of one object and remembers the first that is missing or of the
// wrong type, so that a decoder is a plain list of its fields. Throws nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "model/subject.h"

namespace faultline {

class JsonReader {
 public:
  /// `object` must outlive the reader.
  explicit JsonReader(const nlohmann::json& object) : object_(object) {
    if (!object.is_object()) bad_ = "(not an object)";
  }

  void text(const char* key, std::string& out) {
    if (const auto& value = member(key); value.is_string()) {
      out = value.get_ref<const std::string&>();
    } else {
      fail(key);
    }
  }
  void boolean(const char* key, bool& out) {
    if (const auto& value = member(key); value.is_boolean()) {
      out = value.get<bool>();
    } else {
      fail(key);
    }
  }
  void number(const char* key, double& out) {
    if (const auto& value = member(key); value.is_number()) {
      out = value.get<double>();
    } else {
      fail(key);
    }
  }
  template <class Integer>
  void integer(const char* key, Integer& out) {
    const auto& value = member(key);
    const auto read = fitting<Integer>(value);
    if (read) {
      out = *read;
    } else {
      fail(key);
    }
  }
  template <class Integer>
  void optional_integer(const char* key, std::optional<Integer>& out) {
    if (const auto& value = member(key); !value.is_null()) {
      out = fitting<Integer>(value);
      if (!out) fail(key);
    }
  }
  void nanoseconds(const char* key, Instant& out) {
    std::int64_t count = 0;
    integer(key, count);
    out = Instant{Duration{count}};
  }
  template <class Enum>
  void name(const char* key, Enum& out) {
    const auto& value = member(key);
    const auto parsed =
        value.is_string() ? parse_enum<Enum>(value.get_ref<const std::string&>()) : std::nullopt;
    if (parsed) {
      out = *parsed;
    } else {
      fail(key);
    }
  }
  template <class Enum>
  void names(const char* key, std::vector<Enum>& out) {
    for (const auto& item : list(key)) {
      const auto parsed =
          item.is_string() ? parse_enum<Enum>(item.get_ref<const std::string&>()) : std::nullopt;
      if (!parsed) return fail(key);
      out.push_back(*parsed);
    }
  }
  void texts(const char* key, std::vector<std::string>& out) {
    for (const auto& item : list(key)) {
      if (!item.is_string()) return fail(key);
      out.push_back(item.get_ref<const std::string&>());
    }
  }
  /// Absent in what an older program wrote: stays empty.
  void text_if_present(const char* key, std::string& out) {
    if (object_.contains(key)) text(key, out);
  }
  void texts_if_present(const char* key, std::vector<std::string>& out) {
    if (!member(key).is_null()) texts(key, out);
  }
  void subject(const char* key, Subject& out) {
    std::string words;
    text(key, words);
    if (const auto parsed = Subject::parse(words)) {
      out = *parsed;
    } else {
      fail(key);
    }
  }
  void attempt(const char* key, std::optional<AttemptId>& out) {
    const auto& value = member(key);
    if (value.is_null()) return;
    out = value.is_string() ? AttemptId::parse(value.get_ref<const std::string&>()) : std::nullopt;
    if (!out) fail(key);
  }
  void fields(const char* key, Fields& out) {
    const auto& value = member(key);
    if (!value.is_object()) return fail(key);
    for (const auto& [name, item] : value.items()) {
      if (!item.is_string()) return fail(key);
      out.emplace(name, item.get_ref<const std::string&>());
    }
  }
  const nlohmann::json& list(const char* key) {
    static const nlohmann::json empty = nlohmann::json::array();
    const auto& value = member(key);
    if (value.is_array()) return value;
    fail(key);
    return empty;
  }
  const nlohmann::json& raw(const char* key) { return member(key); }
  JsonReader object(const char* key) { return JsonReader(member(key)); }

  /// The value if everything was read, else corrupt with the first bad key.
  template <class T>
  Result<T> finish(T value) const {
    if (bad_.empty()) return value;
    return Error{ErrorCode::corrupt, "missing or wrong '" + bad_ + "'"};
  }
  template <class T>
  Result<T> finish(T value, const JsonReader& inner) const {
    return bad_.empty() ? inner.finish(std::move(value)) : finish(std::move(value));
  }

 private:
  const nlohmann::json& member(const char* key) const {
    static const nlohmann::json absent;
    if (!object_.is_object()) return absent;
    const auto it = object_.find(key);
    return it == object_.end() ? absent : *it;
  }
  template <class Integer>
  static std::optional<Integer> fitting(const nlohmann::json& value) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (number <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max()))
        return static_cast<Integer>(number);
    } else if (value.is_number_integer()) {
      const auto number = value.get<std::int64_t>();
      if (std::numeric_limits<Integer>::is_signed &&
          number >= static_cast<std::int64_t>(std::numeric_limits<Integer>::min()))
        return static_cast<Integer>(number);
    }
    return std::nullopt;
  }
  void fail(const char* key) {
    if (bad_.empty()) bad_ = key;
  }

  const nlohmann::json& object_;
  std::string bad_;
};

}  // namespace faultline
