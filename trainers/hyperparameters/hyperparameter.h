#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// A word that a hyperparameter takes, in any case. The first word of a value is the one that is printed.
struct Word {
  std::string_view text;
  int64_t value;
};

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // The end itself is outside, and so is what a 32-bit float rounds to it: trainers compute with floats.
  bool low_open = false, high_open = false;

  bool Holds(double value) const;
};
constexpr Interval From(double low) { return {.low = low}; }
constexpr Interval MoreThan(double low, double high) { return {low, high, true, false}; }  // (low, high]
constexpr Interval LessThan(double low, double high) { return {low, high, false, true}; }  // [low, high)

// The declaration of one hyperparameter of a built-in trainer. The trainer, the job checks and the reference
// read it.
struct Hyperparameter {
  enum class Kind {
    kReal,
    kWhole,   // up to 2^63 - 1
    kTruth,   // false or true; `words` are for printing and reading, the numbers 0 and 1 are legal too
    kWord,    // one of `words`
    kWidths,  // a list of whole numbers, each in `range`
    kText,    // any text; the trainer reads it
    kIgnored  // accepted for XGBoost's sake, without effect
  };

  std::string_view name;
  Kind kind = Kind::kText;
  Interval range = {};               // kReal, kWhole, kWidths
  std::span<const Word> words = {};  // kTruth, kWord
  std::string_view meaning = {};     // Markdown, one line
  bool tunable = true;
  bool may_change = false;  // from one part of a training to the next
};

constexpr std::size_t kMostWidths = 64;

// What was read of a text: `real` for kReal, `whole` for kWhole, kTruth and kWord, `widths` for kWidths.
struct Reading {
  double real = 0;
  int64_t whole = 0;
  std::vector<int> widths = {};
};

// Absent where the hyperparameter does not take the text. White space at the ends of the text is ignored.
std::optional<Reading> Read(const Hyperparameter& known, std::string_view text);

// What Read takes, as "a number of more than 0 and at most 1" or "one of gbtree, dart".
std::string Expected(const Hyperparameter& known);
std::string Expected(const Hyperparameter& known, std::string_view text);  // as opposed to this text

// The first word of the value. REQUIRES: it has one.
std::string_view WordOf(const Hyperparameter& known, int64_t value);

std::string_view Trimmed(std::string_view text);  // without white space at its ends

// Absent where the text is not a number, or not a whole one of 64 bits. "6.0" and "1e2" are whole.
std::optional<double> ReadReal(std::string_view text);
std::optional<int64_t> ReadWhole(std::string_view text);

// The entries of a list, which is a text with commas between entries, or a JSON list of texts and numbers.
std::vector<std::string> ReadList(std::string_view text);
std::vector<std::string> ReadNames(std::string_view text);  // a list without repetitions

}  // namespace winnow
