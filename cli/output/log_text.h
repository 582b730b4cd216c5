#pragma once

#include <string>
#include <string_view>

namespace winnow::cli {

// Cleans a log for a terminal: removes escape sequences and control characters other than line ends and tabs,
// so that a trainer's output cannot move the cursor, set a title or paste. A carriage return ends a line, as
// in progress bars; invalid UTF-8 becomes U+FFFD. Pieces may split characters and sequences anywhere.
class LogText {
 public:
  std::string Add(std::string_view piece);
  // Returns the rest that was held back as an incomplete sequence.
  std::string Finish();

 private:
  std::string Read(bool last);

  std::string rest_;          // not parsed yet
  bool line_ended_ = false;   // by a carriage return; a line feed may follow
};

}  // namespace winnow::cli
