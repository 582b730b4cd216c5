#pragma once

#include <string>
#include <vector>

#include "cli/output/terminal.h"

namespace winnow::cli {

// Text in aligned columns under one line of titles.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    int drop = 0;  // where a terminal is too narrow: 0 stays, the highest number goes first
  };
  struct Cell {
    Cell(std::string cell_text, Style cell_style = Style::kPlain)  // NOLINT: a text is a cell
        : text(std::move(cell_text)), style(cell_style) {}
    std::string text;  // cleaned when it is added
    Style style;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES a cell per column.
  void Add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // One line each, "\n" at the end, `indent` blanks before. On a terminal, columns that may go are left out until
  // a line fits, and the last column is cut to its width. If `more` is not empty, a last line names the columns
  // that were left out, and `more`, which says how to see them.
  std::string Text(const Terminal& terminal, int indent = 0, const std::string& more = "") const;

 private:
  // Indices of the columns that fit.
  std::vector<size_t> Shown(const std::vector<size_t>& widths, size_t limit, size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace winnow::cli
