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
    int drop = 0;  // on a narrow terminal the highest number is dropped first; 0: never
  };
  struct Cell {
    Cell(std::string cell_text, Style cell_style = Style::kPlain)  // NOLINT: a text is a cell
        : text(std::move(cell_text)), style(cell_style) {}
    std::string text;  // cleaned by Add
    Style style;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void Add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Returns one line per row, each with a final "\n" and `indent` leading blanks. On a terminal, drops
  // columns until a line fits, and cuts the last column to its width. If `more` is not empty, a last line
  // names the dropped columns and `more`, which says how to see them.
  std::string Text(const Terminal& terminal, int indent = 0, const std::string& more = "") const;

 private:
  // Returns the indices of the columns that fit.
  std::vector<size_t> Shown(const std::vector<size_t>& widths, size_t limit, size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace winnow::cli
