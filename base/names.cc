#include "base/names.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace winnow {
namespace {

constexpr size_t kLeastPart = 3;  // letters
constexpr size_t kMostJoined = 100;
constexpr size_t kMostQuoted = 200;  // bytes

bool IsSameLetter(unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }

// In any case of letters.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t best =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (IsSameLetter(a[i - 1], b[j - 1]) ? 0 : 1)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  // "trials" for max_trials; the shortest if there are several.
  std::string nearest;
  for (const std::string& candidate : known) {
    const bool is_part = name.size() >= kLeastPart &&
                         ("_" + candidate + "_").find("_" + std::string(name) + "_") != std::string::npos;
    if (is_part && (nearest.empty() || candidate.size() < nearest.size())) nearest = candidate;
  }
  if (!nearest.empty()) return nearest;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (name.size() > candidate.size() + least || candidate.size() > name.size() + least) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "; expected one of " + Joined(known) : "; did you mean " + nearest + "?";
}

std::string Shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  // Not within a character of several bytes.
  const auto continues = [text](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  size_t head = most / 2, tail = text.size() - most / 2;
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return std::string(text.substr(0, head)) + " …[" + std::to_string(tail - head) + " bytes]… " +
         std::string(text.substr(tail));
}

std::string Quoted(std::string_view text) { return "\"" + Shortened(text, kMostQuoted) + "\""; }

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostJoined); ++i)
    text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > kMostJoined) text += " and " + std::to_string(names.size() - kMostJoined) + " more";
  return text;
}

}  // namespace winnow
