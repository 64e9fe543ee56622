// The XML that tools print: elements, attributes and text, one step after the other, with the place
// of each. No document type with rules of its own, no entities but the five of XML, nothing
// fetched.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

inline constexpr std::size_t xml_depth_max = 64;

/// Not thread-safe. The views point into the document, which must outlive it.
class XmlReader {
 public:
  enum class Step { open, text, close, end, broken };

  explicit XmlReader(std::string_view document) : document_(document) {}

  /// After `broken` and `end` nothing else comes: a tag that closes another element than the one
  /// that is open, an unknown entity, more than xml_depth_max open elements, a document that stops
  /// inside of one.
  Step next();

  /// The element that was opened or closed.
  [[nodiscard]] std::string_view name() const { return name_; }
  /// The value of an attribute of the element that was opened, as it is written; "" without one.
  [[nodiscard]] std::string_view attribute(std::string_view name) const;
  /// Of the last `text` step, trimmed, entities resolved.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Of the last step, in the document.
  [[nodiscard]] std::size_t offset() const { return offset_; }
  /// The names of the open elements, the outermost first.
  [[nodiscard]] const std::vector<std::string_view>& open() const { return open_; }

 private:
  Step take_tag();
  Step take_open(std::string_view tag);
  Step take_close(std::string_view tag);
  Step broken();
  bool pass_over();
  bool pass_declaration();
  bool set_text(std::string_view raw);

  std::string_view document_;
  std::size_t at_ = 0;
  std::size_t offset_ = 0;
  std::string_view name_;
  std::string_view attributes_;
  std::string text_;
  std::vector<std::string_view> open_;
  bool close_again_ = false;  // of "<name/>"
  bool broken_ = false;
};

}  // namespace faultline
