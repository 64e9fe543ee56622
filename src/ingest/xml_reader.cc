#include "ingest/xml_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::string_view blank = " \t\r\n";
constexpr std::size_t entity_bytes_max = 8;

/// '\0' if it is none.
char entity(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, char>, 5> entities = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  for (const auto& [known, character] : entities) {
    if (known == name) return character;
  }
  return '\0';
}

}  // namespace

XmlReader::Step XmlReader::next() {
  if (broken_) return Step::broken;
  if (close_again_) {
    close_again_ = false;
    open_.pop_back();
    return Step::close;
  }
  while (at_ < document_.size()) {
    if (document_[at_] == '<') {
      if (!pass_over()) return take_tag();
      if (broken_) return Step::broken;
      continue;
    }
    offset_ = std::min(document_.find_first_not_of(blank, at_), document_.size());
    const std::size_t stop = std::min(document_.find('<', at_), document_.size());
    const std::string_view raw = trim(document_.substr(at_, stop - at_));
    at_ = stop;
    if (raw.empty() || open_.empty()) continue;  // what stands outside of all elements is none
    return set_text(raw) ? Step::text : broken();
  }
  return open_.empty() ? Step::end : broken();
}

/// True if a comment, a processing instruction or a declaration was passed.
bool XmlReader::pass_over() {
  const std::string_view rest = document_.substr(at_);
  std::string_view end;
  if (rest.starts_with("<!--")) {
    end = "-->";
  } else if (rest.starts_with("<?")) {
    end = "?>";
  } else if (rest.starts_with("<!")) {
    return pass_declaration();
  } else {
    return false;
  }
  const auto stop = rest.find(end, 2);
  if (stop == std::string_view::npos) {
    broken();
  } else {
    at_ += stop + end.size();
  }
  return true;
}

/// "<!DOCTYPE name SYSTEM "file">"; with rules inside ("[...]") it is refused.
bool XmlReader::pass_declaration() {
  const auto stop = document_.find_first_of(">[", at_);
  if (stop == std::string_view::npos || document_[stop] == '[') {
    broken();
  } else {
    at_ = stop + 1;
  }
  return true;
}

XmlReader::Step XmlReader::take_tag() {
  offset_ = at_;
  const auto end = document_.find('>', at_);
  if (end == std::string_view::npos) return broken();
  const std::string_view tag = document_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return tag.starts_with('/') ? take_close(trim(tag.substr(1))) : take_open(tag);
}

XmlReader::Step XmlReader::take_open(std::string_view tag) {
  const bool empty = tag.ends_with('/');
  if (empty) tag.remove_suffix(1);
  const std::size_t name_end = std::min(tag.find_first_of(blank), tag.size());
  name_ = tag.substr(0, name_end);
  attributes_ = tag.substr(name_end);
  if (name_.empty() || open_.size() >= xml_depth_max) return broken();
  open_.push_back(name_);
  close_again_ = empty;
  return Step::open;
}

XmlReader::Step XmlReader::take_close(std::string_view tag) {
  name_ = tag;
  if (open_.empty() || open_.back() != tag) return broken();
  open_.pop_back();
  return Step::close;
}

std::string_view XmlReader::attribute(std::string_view name) const {
  std::string_view rest = attributes_;
  while (true) {
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos || equals + 1 >= rest.size()) return {};
    const std::string_view key = trim(rest.substr(0, equals));
    const char quote = rest[equals + 1];
    const auto end = rest.find(quote, equals + 2);
    if ((quote != '"' && quote != '\'') || end == std::string_view::npos) return {};
    if (key == name) return rest.substr(equals + 2, end - equals - 2);
    rest.remove_prefix(end + 1);
  }
}

bool XmlReader::set_text(std::string_view raw) {
  text_.clear();
  while (!raw.empty()) {
    const auto ampersand = std::min(raw.find('&'), raw.size());
    text_ += raw.substr(0, ampersand);
    raw.remove_prefix(ampersand);
    if (raw.empty()) break;
    const auto end = raw.substr(0, entity_bytes_max).find(';');
    if (end == std::string_view::npos) return false;
    const char character = entity(raw.substr(1, end - 1));
    if (character == '\0') return false;
    text_ += character;
    raw.remove_prefix(end + 1);
  }
  return true;
}

XmlReader::Step XmlReader::broken() {
  broken_ = true;
  return Step::broken;
}

}  // namespace faultline
