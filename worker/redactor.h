#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// What stands in place of a secret's value in whatever a trainer prints.
inline constexpr std::string_view kRedacted = "(secret)";

// Takes values out of a stream of bytes, however it is cut. What may be the beginning of a value is held back until it is
// known; all else is passed on at once. Values that overlap in the stream go as one.
class Redactor {
 public:
  explicit Redactor(const std::vector<std::string>& values);

  // What can be passed on now.
  std::string Add(std::string_view bytes);
  // The stream has ended.
  std::string End();
  // Nothing is ever taken out.
  bool idle() const { return patterns_.empty(); }

 private:
  // Knuth, Morris and Pratt: how much of `value` the stream ends with.
  struct Pattern {
    std::string value;
    std::vector<size_t> border;  // of each prefix, by its length: the longest proper one that it also ends with
    size_t matched = 0;
    void Take(char byte);
  };
  // The first `count` held bytes.
  std::string Release(size_t count);

  std::vector<Pattern> patterns_;
  std::string held_;          // at least what each pattern has matched
  std::vector<bool> secret_;  // of each held byte
  bool in_secret_ = false;    // the newest byte that was passed on, or replaced, was one
};

}  // namespace winnow
