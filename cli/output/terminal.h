#pragma once

#include <string>
#include <string_view>

namespace winnow::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kBusy };

// Where a command writes: a file descriptor, which may be a terminal.
class Terminal {
 public:
  // `no_color`: as the user asked. Colour also needs a terminal, NO_COLOR unset or empty, and TERM not
  // "dumb".
  Terminal(int fd, bool no_color);

  bool is_terminal() const { return is_terminal_; }
  bool interactive() const { return interactive_; }  // a terminal that can move its cursor
  bool color() const { return color_; }
  // Columns and lines as they are now; 100 and 40 if it is not a terminal or does not say.
  int width() const;
  int height() const;

  std::string Paint(Style style, std::string_view text) const;

  // "  label  value\n": the value begins behind two blanks and `columns` columns; on a terminal it is wrapped there.
  std::string Labelled(std::string_view label, size_t columns, std::string_view value) const;

  // On a terminal, `text` in lines that fit its width.
  std::string Wrapped(std::string_view text) const;

  // Writes all of it, unbuffered.
  void Print(std::string_view text);
  // Draws `frame` (whole lines) over the last one that was drawn; what does not fit is left out.
  void Redraw(std::string_view frame);
  // Leaves the last frame where it is; printing goes on below it.
  void KeepFrame() { frame_lines_ = 0; }

  // Errno of the first write that failed; 0: none did.
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
