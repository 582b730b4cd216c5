#include "cli/commands/ignore_rules.h"

#include <fnmatch.h>

#include <cstddef>

#include "base/byte_order_mark.h"

namespace winnow::cli {
namespace {

constexpr std::string_view kAnyFolders = "**";

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

// Whether parts[p..] match names[n..]. `row[n]` holds the answers for the next part: the time is bounded by
// the product of the two lengths, whatever the pattern.
bool MatchParts(const std::vector<std::string>& parts, const std::vector<std::string>& names) {
  std::vector<bool> row(names.size() + 1, false);
  row[names.size()] = true;
  for (size_t p = parts.size(); p-- > 0;) {
    std::vector<bool> here(names.size() + 1, false);
    for (size_t n = names.size() + 1; n-- > 0;) {
      if (parts[p] == kAnyFolders) {
        // At the end of a pattern it matches what is inside of the folder, and not the folder itself.
        const bool last = p + 1 == parts.size();
        here[n] = (!last && row[n]) || (n < names.size() && (here[n + 1] || row[n + 1]));
      } else {
        here[n] = n < names.size() && row[n + 1] && fnmatch(parts[p].c_str(), names[n].c_str(), 0) == 0;
      }
    }
    row = std::move(here);
  }
  return row[0];
}

}  // namespace

void IgnoreRules::AddLines(std::string_view text) {
  text = WithoutByteOrderMark(text);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void IgnoreRules::Add(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  if (line.empty() || line.starts_with('#')) return;
  Rule rule;
  if (line.starts_with('!')) {
    rule.takes_in = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.folders_only = true;
    line.remove_suffix(1);
  }
  const bool tied = line.find('/') != std::string_view::npos;
  rule.parts = SplitPath(line);
  if (rule.parts.empty()) return;
  if (!tied) rule.parts.insert(rule.parts.begin(), std::string(kAnyFolders));
  rules_.push_back(std::move(rule));
}

bool IgnoreRules::LeavesOut(std::string_view path, bool is_folder) const {
  const std::vector<std::string> names = SplitPath(path);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders_only && !is_folder) continue;
    if (MatchParts(rule->parts, names)) return !rule->takes_in;
  }
  return false;
}

}  // namespace winnow::cli
