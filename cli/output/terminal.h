#pragma once

#include <string>
#include <string_view>

namespace winnow::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kBusy };

// The output of a command: a file descriptor, which may be a terminal.
class Terminal {
 public:
  // `no_color`: the user's flag. Colour also needs a terminal, NO_COLOR unset or empty, and TERM other than
  // "dumb".
  Terminal(int fd, bool no_color);

  bool is_terminal() const { return is_terminal_; }
  bool interactive() const { return interactive_; }  // a terminal that can move its cursor
  bool color() const { return color_; }
  // Current columns and lines; 100 and 40 if it is not a terminal or does not report them.
  int width() const;
  int height() const;

  std::string Paint(Style style, std::string_view text) const;

  // "  label  value\n": `value` begins after two blanks and `columns` columns, and a terminal wraps it there.
  std::string Labelled(std::string_view label, size_t columns, std::string_view value) const;

  // Returns `text`; on a terminal, wrapped to its width.
  std::string Wrapped(std::string_view text) const;

  // Writes all of it, unbuffered.
  void Print(std::string_view text);
  // Draws `frame` (whole lines) over the last frame; cuts what does not fit.
  void Redraw(std::string_view frame);
  // Keeps the last frame on the screen; output continues below it.
  void KeepFrame() { frame_lines_ = 0; }

  // The errno of the first failed write; 0: none.
  int write_error() const { return write_error_; }

 private:
  const int fd_;
  bool is_terminal_ = false;
  bool interactive_ = false;
  bool color_ = false;
  int frame_lines_ = 0;
  int write_error_ = 0;
};

}  // namespace winnow::cli
