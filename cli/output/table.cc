#include "cli/output/table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "cli/output/text.h"
#include "flags/wrap.h"

namespace winnow::cli {
namespace {

constexpr size_t kLeastOfLast = 12;  // columns to which a last cell shrinks before whole columns are dropped

}  // namespace

void Table::Add(std::vector<Cell> cells) {
  WINNOW_CHECK(cells.size() == columns_.size(), "a row has a cell for each column");
  for (Cell& cell : cells) cell.text = Clean(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Shown(const std::vector<size_t>& widths, size_t limit, size_t indent) const {
  std::vector<size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  const auto needed = [&] {
    size_t width = indent + 2 * (shown.size() - 1);
    for (const size_t c : shown) {
      const bool cut = c == shown.back() && columns_[c].align == Align::kLeft;
      width += cut ? std::min(widths[c], kLeastOfLast) : widths[c];
    }
    return width;
  };
  while (needed() > limit) {
    const auto first = std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return columns_[a].drop < columns_[b].drop;
    });
    if (columns_[*first].drop == 0) break;
    shown.erase(first);
  }
  return shown;
}

std::string Table::Text(const Terminal& terminal, int indent, const std::string& more) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = DisplayWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c].text));
    widths.push_back(width);
  }
  const size_t limit = terminal.interactive() ? static_cast<size_t>(terminal.width()) : std::string::npos;
  const std::vector<size_t> shown = Shown(widths, limit, static_cast<size_t>(indent));

  std::string text;
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string blanks(static_cast<size_t>(indent), ' ');  // blanks before the next cell
    size_t used = 0;
    for (const size_t c : shown) {
      const bool last = c == shown.back();
      std::string cell = cells[c].text;
      if (last && columns_[c].align == Align::kLeft && limit != std::string::npos) {
        const size_t left = used + blanks.size();
        cell = Fit(cell, limit > left ? limit - left : 0);
      }
      const std::string padding(widths[c] - std::min(widths[c], DisplayWidth(cell)), ' ');
      if (columns_[c].align == Align::kRight) blanks += padding;
      if (!cell.empty()) {
        used += blanks.size() + DisplayWidth(cell);
        text += blanks + terminal.Paint(cells[c].style, cell);
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
  if (more.empty() || shown.size() == columns_.size()) return text;
  std::string dropped;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (std::find(shown.begin(), shown.end(), c) != shown.end()) continue;
    dropped += (dropped.empty() ? "" : ", ") + columns_[c].title;
  }
  return text +
         terminal.Paint(Style::kDim,
                        Wrap("Not shown: " + dropped + ". For all columns: " + more, limit, DisplayWidth)) +
         "\n";
}

}  // namespace winnow::cli
