#include "ingest/json_elements.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace faultline {
namespace {

constexpr std::string_view blank = " \t\r\n";

/// Walks over values without reading them. Every step returns false at the end of the document.
class JsonElements {
 public:
  JsonElements(std::string_view document, std::string_view list, const JsonElementVisitor& visit)
      : text_(document), list_('"' + std::string(list) + '"'), visit_(visit) {}

  JsonElementCounts all() {
    while (find_root()) {
      const bool whole = text_[at_] == '[' ? visit_array() : visit_root_object();
      if (!whole) counts_.cut = true;
      if (!whole || at_ >= text_.size()) break;
    }
    return counts_;
  }

 private:
  bool find_root() {
    at_ = std::min(text_.find_first_of("{[", at_), text_.size());
    return at_ < text_.size();
  }

  bool skip_blank() {
    at_ = std::min(text_.find_first_not_of(blank, at_), text_.size());
    return at_ < text_.size();
  }

  /// From the opening quote to behind the closing one.
  bool skip_text() {
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = std::min(text_.find_first_of("\"\\", at_), text_.size());
      if (at_ >= text_.size()) return false;
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      ++at_;  // what is escaped
    }
    return false;
  }

  bool skip_structure() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      at_ = std::min(text_.find_first_of("\"{}[]", at_), text_.size());
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_text()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth == 0) return true;
    }
    return false;
  }

  bool skip_value() {
    if (!skip_blank()) return false;
    const char c = text_[at_];
    if (c == '"') return skip_text();
    if (c == '{' || c == '[') return skip_structure();
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    return at_ < text_.size();
  }

  void visit_record(std::size_t start) {
    const auto bytes = text_.substr(start, at_ - start);
    if (bytes.size() > json_element_bytes_max) {
      ++counts_.left_out;
      return;
    }
    const auto record = nlohmann::json::parse(bytes, nullptr, false);
    if (!record.is_object()) {
      ++counts_.left_out;
      return;
    }
    ++counts_.records;
    visit_(record, start, bytes);
  }

  /// At '['.
  bool visit_array() {
    ++at_;
    while (skip_blank()) {
      const char c = text_[at_];
      if (c == ']') {
        ++at_;
        return true;
      }
      const std::size_t start = at_;
      if (c == ',' || c == '}') {
        ++at_;
        continue;
      }
      if (!skip_value()) return false;
      visit_record(start);
    }
    return false;
  }

  /// At '{'.
  bool visit_root_object() {
    const std::size_t start = at_;
    bool has_list = false;
    ++at_;
    while (skip_blank()) {
      const char c = text_[at_];
      if (c == '}') {
        ++at_;
        if (!has_list) visit_record(start);
        return true;
      }
      const std::size_t member = at_;
      if (c == ',' || c == ':' || c == ']') {
        ++at_;
        continue;
      }
      if (!skip_value()) return false;
      if (text_.substr(member, at_ - member) == list_ && at_list()) {
        has_list = true;
        if (!visit_array()) return false;
      }
    }
    return false;
  }

  /// Behind the list's name: moves to its '['; elsewhere nothing moves.
  bool at_list() {
    const std::size_t before = at_;
    if (skip_blank() && text_[at_] == ':') {
      ++at_;
      if (skip_blank() && text_[at_] == '[') return true;
    }
    at_ = before;
    return false;
  }

  std::string_view text_;
  std::string list_;
  const JsonElementVisitor& visit_;
  std::size_t at_ = 0;
  JsonElementCounts counts_;
};

}  // namespace

JsonElementCounts visit_json_elements(std::string_view document, std::string_view list,
                                      const JsonElementVisitor& visit) {
  return JsonElements(document, list, visit).all();
}

}  // namespace faultline
