#pragma once

#include <string>
#include <string_view>

namespace winnow::cli {

// A log as a terminal may show it: without escape sequences and control characters other than line ends and tabs, so
// that what a trainer printed cannot move the cursor, set a title or paste. A carriage return ends a line, as progress
// bars mean it; bytes that are not UTF-8 become U+FFFD. Pieces may cut characters and sequences anywhere.
class LogText {
 public:
  std::string Add(std::string_view piece);
  // What was held back as the beginning of something.
  std::string Finish();

 private:
  std::string Read(bool last);

  std::string rest_;          // not read yet
  bool line_ended_ = false;   // by a carriage return, which a line feed may follow
};

}  // namespace winnow::cli
