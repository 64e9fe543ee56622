// Tables that kubectl prints for people: columns under upper-case or capitalised titles.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// A cell may hold single blanks ("10m (x4 over 12m)"), be empty, or, in a message, go on to the
/// end of the line. Columns begin where their titles do; where a line was pasted with other blanks,
/// two of them part its cells.
class KubernetesTable {
 public:
  /// nullopt if the line has fewer than two titles.
  static std::optional<KubernetesTable> of(std::string_view heading);

  [[nodiscard]] bool has(std::string_view title) const;
  /// nullopt for what is no row of it.
  [[nodiscard]] std::optional<std::vector<std::string_view>> cells(std::string_view line) const;
  /// "" for a column that the table does not have, and for "<none>", "<unknown>", "<unset>".
  [[nodiscard]] std::string_view cell(const std::vector<std::string_view>& cells,
                                      std::string_view title) const;

 private:
  struct Column {
    std::string title;  // lower case
    std::size_t start = 0;
  };
  [[nodiscard]] bool fits(std::string_view line) const;

  std::vector<Column> columns_;
};

}  // namespace faultline
