#include "cli/table.h"

#include <algorithm>
#include <cstdlib>

#include "cli/text.h"

namespace winnow::cli {

void Table::Add(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) std::abort();
  for (Cell& cell : cells) cell.text = Clean(cell.text);
  rows_.push_back(std::move(cells));
}

std::string Table::Text(const Terminal& terminal, int indent) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = DisplayWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c].text));
    widths.push_back(width);
  }
  const size_t limit = terminal.interactive() ? static_cast<size_t>(terminal.width()) : std::string::npos;

  std::string text;
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string blanks(static_cast<size_t>(indent), ' ');  // those before the next cell
    size_t used = 0;
    for (size_t c = 0; c < cells.size(); ++c) {
      const bool last = c + 1 == cells.size();
      std::string shown = cells[c].text;
      if (last && columns_[c].align == Align::kLeft && limit != std::string::npos) {
        const size_t left = used + blanks.size();
        shown = Fit(shown, limit > left ? limit - left : 0);
      }
      const std::string padding(widths[c] - std::min(widths[c], DisplayWidth(shown)), ' ');
      if (columns_[c].align == Align::kRight) blanks += padding;
      if (!shown.empty()) {
        used += blanks.size() + DisplayWidth(shown);
        text += blanks + terminal.Paint(cells[c].style, shown);
        blanks.clear();
      }
      if (columns_[c].align == Align::kLeft) blanks += padding;
      blanks += "  ";
    }
    text += '\n';
  };

  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title, Style::kDim);
  line(titles);
  for (const auto& row : rows_) line(row);
  return text;
}

}  // namespace winnow::cli
