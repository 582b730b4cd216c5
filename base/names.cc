#include "base/names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

namespace winnow {
namespace {

constexpr size_t kLeastPart = 3;   // letters
constexpr size_t kLeastFront = 2;  // letters
constexpr std::string_view kBetweenParts = "_-";
constexpr size_t kMostNearest = 3;
constexpr size_t kMostJoined = 100;
constexpr size_t kMostQuoted = 200;  // bytes

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Damerau's: insertions, deletions, replacements, and swaps of neighbours.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// How far `name` is from a known name, both in lower case; none if it is not near.
std::optional<size_t> DistanceOf(const std::string& name, const std::string& known) {
  const bool lacks_last = known.size() == name.size() + 1 && known.starts_with(name);
  if (name.size() >= kLeastPart && lacks_last) return 0;
  for (size_t at = name.size() < kLeastPart ? std::string::npos : known.find(name); at != std::string::npos;
       at = known.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || kBetweenParts.find(known[at - 1]) != std::string::npos) &&
        (end == known.size() || kBetweenParts.find(known[end]) != std::string::npos))
      return 0;
  }
  if (name.size() >= kLeastFront && known.starts_with(name)) return 1;
  const size_t most = std::max<size_t>(1, name.size() / 3);
  if (name.size() > known.size() + most || known.size() > name.size() + most) return std::nullopt;
  const size_t distance = EditDistance(name, known);
  return distance <= most ? std::optional(distance) : std::nullopt;
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& known) {
  const std::string lower = Lower(name);
  std::vector<std::string> nearest;
  size_t least = std::string::npos;
  for (const std::string& candidate : known) {
    const std::optional<size_t> distance = DistanceOf(lower, Lower(candidate));
    if (!distance.has_value() || *distance > least) continue;
    if (*distance < least) nearest.clear();
    least = *distance;
    nearest.push_back(candidate);
  }
  if (least == 0) {  // the shortest has the least beside the part
    std::stable_sort(nearest.begin(), nearest.end(),
                     [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  }
  nearest.resize(std::min(nearest.size(), kMostNearest));
  return nearest;
}

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> nearest = NearestNames(name, known);
  return nearest.empty() ? "" : nearest.front();
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

std::string OneOf(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostJoined); ++i)
    text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > kMostJoined) text += " and " + std::to_string(names.size() - kMostJoined) + " more";
  return text;
}

}  // namespace winnow
