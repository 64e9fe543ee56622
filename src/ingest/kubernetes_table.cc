#include "ingest/kubernetes_table.h"

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t columns_max = 32;

struct Piece {
  std::string_view text;
  std::size_t start = 0;
};

/// What stands between runs of two blanks and more, `pieces_max` of them: the last goes on.
std::vector<Piece> pieces_of(std::string_view line, std::size_t pieces_max) {
  std::vector<Piece> pieces;
  std::size_t at = line.find_first_not_of(" \t");
  while (at < line.size() && pieces.size() < pieces_max) {
    const std::size_t gap = std::min({line.find("  ", at), line.find('\t', at), line.size()});
    const std::size_t end = pieces.size() + 1 == pieces_max ? line.size() : gap;
    pieces.push_back({trim(line.substr(at, end - at)), at});
    at = end < line.size() ? line.find_first_not_of(" \t", end) : line.size();
  }
  return pieces;
}

}  // namespace

std::optional<KubernetesTable> KubernetesTable::of(std::string_view heading) {
  KubernetesTable table;
  for (const Piece& piece : pieces_of(heading, columns_max))
    table.columns_.push_back({to_lower(piece.text), piece.start});
  if (table.columns_.size() < 2) return std::nullopt;
  return table;
}

bool KubernetesTable::has(std::string_view title) const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [&](const Column& column) { return column.title == title; });
}

/// Every column begins behind a blank, and the first one with its cell.
bool KubernetesTable::fits(std::string_view line) const {
  const std::size_t first = columns_.front().start;
  if (line.find_first_not_of(" \t") != first) return false;
  return std::all_of(columns_.begin() + 1, columns_.end(), [&](const Column& column) {
    return column.start >= line.size() || line[column.start - 1] == ' ';
  });
}

std::optional<std::vector<std::string_view>> KubernetesTable::cells(std::string_view line) const {
  std::vector<std::string_view> cells;
  if (fits(line) && line.find('\t') == std::string_view::npos) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t start = std::min(columns_[i].start, line.size());
      const bool last = i + 1 == columns_.size();
      const std::size_t end = last ? line.size() : std::min(columns_[i + 1].start, line.size());
      cells.push_back(trim(line.substr(start, end - start)));
    }
    return cells;
  }
  for (const Piece& piece : pieces_of(line, columns_.size())) cells.push_back(piece.text);
  if (cells.size() != columns_.size()) return std::nullopt;
  return cells;
}

std::string_view KubernetesTable::cell(const std::vector<std::string_view>& cells,
                                       std::string_view title) const {
  constexpr std::array<std::string_view, 3> nothing = {"<none>", "<unknown>", "<unset>"};
  for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
    if (columns_[i].title == title) return contains(nothing, cells[i]) ? "" : cells[i];
  }
  return {};
}

}  // namespace faultline
