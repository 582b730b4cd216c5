#include "trainers/hyperparameters/hyperparameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace winnow {
namespace {

using Kind = Hyperparameter::Kind;

constexpr double kMostExact = 9e15;  // whole numbers up to here are exact in a double

bool IsSame(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool SameFloat(double a, double b) { return static_cast<float>(a) == static_cast<float>(b); }

std::string RangeText(const char* what, const Interval& range) {
  std::string text = what;
  if (std::isfinite(range.low))
    text += fmt::format(" of {} {}", range.low_open ? "more than" : "at least", range.low);
  if (std::isfinite(range.high))
    text += fmt::format(" {} {} {}", std::isfinite(range.low) ? "and" : "of",
                        range.high_open ? "less than" : "at most", range.high);
  return text;
}

std::string FirstWords(std::span<const Word> words) {
  std::string text;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool first =
        std::none_of(words.begin(), word, [&](const Word& w) { return w.value == word->value; });
    if (first) text += (text.empty() ? "" : ", ") + std::string(word->text);
  }
  return text;
}

std::optional<Reading> ReadWord(const Hyperparameter& known, std::string_view text) {
  for (const Word& word : known.words) {
    if (IsSame(word.text, text)) return Reading{.whole = word.value};
  }
  return std::nullopt;
}

std::optional<Reading> ReadWidths(const Hyperparameter& known, std::string_view text) {
  Reading reading;
  for (const std::string& entry : ReadList(text)) {
    const std::optional<int64_t> width = ReadWhole(entry);
    if (!width || !known.range.Holds(static_cast<double>(*width))) return std::nullopt;
    reading.widths.push_back(static_cast<int>(*width));
  }
  if (reading.widths.empty() || reading.widths.size() > kMostWidths) return std::nullopt;
  return reading;
}

}  // namespace

bool Interval::Holds(double value) const {
  return value >= low && value <= high && !(low_open && SameFloat(value, low)) &&
         !(high_open && SameFloat(value, high));
}

std::optional<Reading> Read(const Hyperparameter& known, std::string_view text) {
  text = Trimmed(text);
  switch (known.kind) {
    case Kind::kReal: {
      const std::optional<double> real = ReadReal(text);
      if (!real || !known.range.Holds(*real)) return std::nullopt;
      return Reading{.real = *real};
    }
    case Kind::kWhole: {
      const std::optional<int64_t> whole = ReadWhole(text);
      if (!whole || !known.range.Holds(static_cast<double>(*whole))) return std::nullopt;
      return Reading{.whole = *whole};
    }
    case Kind::kTruth:
    case Kind::kWord:
      return ReadWord(known, text);
    case Kind::kWidths:
      return ReadWidths(known, text);
    case Kind::kText:
    case Kind::kIgnored:
      break;
  }
  return Reading{};
}

std::string Expected(const Hyperparameter& known) {
  switch (known.kind) {
    case Kind::kReal:
      return RangeText("a number", known.range);
    case Kind::kWhole:
      return RangeText("a whole number", known.range) +
             (std::isfinite(known.range.high) ? "" : " and less than 2^63");
    case Kind::kTruth:
    case Kind::kWord:
      return "one of " + FirstWords(known.words);
    case Kind::kWidths:
      return fmt::format("1 to {} widths from {} to {}, as 256,128", kMostWidths, known.range.low,
                         known.range.high);
    case Kind::kText:
    case Kind::kIgnored:
      break;
  }
  return "a text";
}

std::string Expected(const Hyperparameter& known, std::string_view text) {
  const std::optional<double> real = known.kind == Kind::kReal ? ReadReal(text) : std::nullopt;
  const auto& [low, high, low_open, high_open] = known.range;
  const bool rounds_to_end = real && *real >= low && *real <= high && *real != low && *real != high;
  return Expected(known) + (rounds_to_end ? ", also when rounded to a 32-bit float" : "");
}

std::string_view WordOf(const Hyperparameter& known, int64_t value) {
  return std::find_if(known.words.begin(), known.words.end(),
                      [value](const Word& word) { return word.value == value; })
      ->text;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::optional<double> ReadReal(std::string_view text) {
  const std::string trimmed(Trimmed(text));
  char* end = nullptr;
  const double real = std::strtod(trimmed.c_str(), &end);
  if (trimmed.empty() || end != trimmed.c_str() + trimmed.size() || !std::isfinite(real)) return std::nullopt;
  return real;
}

std::optional<int64_t> ReadWhole(std::string_view text) {
  const std::string trimmed(Trimmed(text));
  char* end = nullptr;
  errno = 0;
  const long long whole = std::strtoll(trimmed.c_str(), &end, 10);
  if (!trimmed.empty() && end == trimmed.c_str() + trimmed.size() && errno == 0) return whole;
  const std::optional<double> real = ReadReal(trimmed);
  if (!real || std::floor(*real) != *real || std::fabs(*real) > kMostExact) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::vector<std::string> ReadList(std::string_view text) {
  text = Trimmed(text);
  const bool is_json = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (is_json) text = Trimmed(text.substr(1, text.size() - 2));
  std::vector<std::string> entries;
  if (is_json && text.empty()) return entries;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    std::string_view entry = Trimmed(text.substr(from, comma - from));
    if (is_json && entry.size() >= 2 && entry.front() == '"' && entry.back() == '"')
      entry = Trimmed(entry.substr(1, entry.size() - 2));
    entries.emplace_back(entry);
    from = comma + 1;
  }
  return entries;
}

std::vector<std::string> ReadNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::string& name : ReadList(text)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace winnow
