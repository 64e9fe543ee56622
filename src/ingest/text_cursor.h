// A place in a text that moves forward over what is expected there, or stays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace faultline {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_letter(char c) { return is_upper(c) || is_lower(c); }

class TextCursor {
 public:
  explicit TextCursor(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  /// What was passed since `from`.
  [[nodiscard]] std::string_view since(std::size_t from) const {
    return text_.substr(from, at_ - from);
  }

  bool take(char c) {
    if (peek() != c || done()) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (rest().substr(0, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool take_any(std::string_view set) {
    if (done() || set.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  /// Takes from `least` to `most` characters for which `wanted` holds; all or none.
  template <class Predicate>
  bool take_while(Predicate wanted, std::size_t least, std::size_t most) {
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < most && wanted(text_[end])) ++end;
    if (end - at_ < least) return false;
    at_ = end;
    return true;
  }
  bool take_digits(std::size_t least, std::size_t most) {
    return take_while(is_digit, least, most);
  }
  void skip_spaces(std::size_t most) {
    take_while([](char c) { return c == ' '; }, 0, most);
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

}  // namespace faultline
