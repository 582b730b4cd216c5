#include "spec/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/names.h"

namespace winnow {
namespace {

constexpr int kMostTags = 32;
constexpr size_t kLongestTag = 64;
constexpr size_t kMostNoteBytes = 4096;

// ASCII only: tags are stored and searched as they are (store/annotations.h).
bool IsTag(const std::string& tag) {
  constexpr std::string_view kPunctuation = "-_.:/";
  if (tag.empty() || tag.size() > kLongestTag) return false;
  return std::all_of(tag.begin(), tag.end(), [kPunctuation](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPunctuation.find(c) != std::string_view::npos;
  });
}

}  // namespace

std::vector<Violation> CheckTags(const TagList& tags, const std::string& field) {
  std::vector<Violation> violations;
  if (tags.size() > kMostTags) {
    violations.push_back({field, fmt::format("has {} entries; expected at most {}", tags.size(), kMostTags)});
    return violations;
  }
  for (int i = 0; i < tags.size(); ++i) {
    if (IsTag(tags[i])) continue;
    violations.push_back(
        {fmt::format("{}[{}]", field, i),
         fmt::format("is {}; expected 1 to {} letters (A to Z, a to z), digits, '-', '_', '.', ':' and '/'",
                     Quoted(tags[i]), kLongestTag)});
  }
  return violations;
}

std::vector<Violation> CheckAnnotation(const TagList& tags, const std::string& note) {
  std::vector<Violation> violations = CheckTags(tags, "tags");
  if (note.size() > kMostNoteBytes) {
    violations.push_back(
        {"note", fmt::format("has {} bytes; expected at most {}", note.size(), kMostNoteBytes)});
  }
  if (note.find('\0') != std::string::npos)
    violations.push_back({"note", "holds a NUL character; expected none"});
  return violations;
}

std::vector<std::string> SortedTags(const TagList& tags) {
  std::vector<std::string> sorted(tags.begin(), tags.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

}  // namespace winnow
