#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// Replaces a secret's value in a trainer's output.
inline constexpr std::string_view kRedacted = "(secret)";

// Removes secret values from a stream of bytes, however it is split. It holds back bytes that may begin a
// value until that is decided, and passes on all others at once. Values that overlap are replaced together.
class Redactor {
 public:
  explicit Redactor(const std::vector<std::string>& values);

  // Returns the bytes that can be passed on now.
  std::string Add(std::string_view bytes);
  // The stream has ended; returns the rest.
  std::string End();
  // Whether it never removes anything.
  bool idle() const { return patterns_.empty(); }

 private:
  // Knuth-Morris-Pratt state: the length of the prefix of `value` with which the stream ends.
  struct Pattern {
    std::string value;
    // for each prefix, by length: the longest proper prefix that is also its suffix
    std::vector<size_t> border;
    size_t matched = 0;
    void Take(char byte);
  };
  // Passes on the first `count` held bytes.
  std::string Release(size_t count);

  std::vector<Pattern> patterns_;
  std::string held_;          // at least the bytes that each pattern has matched
  std::vector<bool> secret_;  // whether each held byte is part of a secret
  bool in_secret_ = false;    // the newest byte passed on or replaced was part of a secret
};

}  // namespace winnow
