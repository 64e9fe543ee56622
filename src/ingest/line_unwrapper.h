// Lines that a terminal, a web page or an e-mail broke at its width, made whole again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace faultline {

/// How a text was broken.
struct Wrapping {
  std::size_t width = 0;  // in characters; no line is longer
  /// How its whole lines begin, as far as that is known: what begins so is no rest of another.
  std::set<std::string, std::less<>> openings;
};

/// Known from the beginning of a text: no line is longer than one width, lines of that width are
/// more than those just below it, and what follows them does not begin as a line does. Not so of
/// tables, rulers and logs whose lines happen to be equally long; and not of text that is broken
/// between words.
std::optional<Wrapping> find_wrapping(std::string_view head);

/// A line that was broken comes out whole, and behind it the line ends that were in it: every line
/// keeps its offset and its number. A longer line than the width says that the text is not wrapped
/// after all: from there on all comes out as it came. Memory: bounded. Not thread-safe.
class LineUnwrapper {
 public:
  explicit LineUnwrapper(Wrapping wrapping) : wrapping_(std::move(wrapping)) {}

  /// Appends to `out` what is known to be whole.
  void feed(std::string_view bytes, std::string& out);
  /// Appends the rest.
  void finish(std::string& out);

 private:
  void take_line(std::string_view line, std::string& out);
  void give_up(std::string& out);

  Wrapping wrapping_;
  std::string partial_;       // of the line whose end has not come
  std::string ends_;          // that belong behind what was given last
  std::size_t parts_ = 0;     // of the line that was given last
  bool may_go_on_ = false;    // it was broken, if what follows does not begin as a line does
  bool not_wrapped_ = false;  // a longer line has come
};

}  // namespace faultline
