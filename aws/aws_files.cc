#include "aws/aws_files.h"

#include <cstddef>

namespace winnow {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

// Without a comment, which begins with '#' or ';' after a blank.
std::string_view WithoutComment(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if ((text[i] == '#' || text[i] == ';') && kBlanks.find(text[i - 1]) != std::string_view::npos)
      return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string_view WithoutOuterBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

AwsSections ParseAwsFile(std::string_view text) {
  AwsSections sections;
  std::map<std::string, std::string>* section = nullptr;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::string_view content = WithoutOuterBlanks(line);
    if (content.empty() || content[0] == '#' || content[0] == ';') continue;
    if (content[0] == '[') {
      const size_t close = content.find(']');
      section = close == std::string_view::npos
                    ? nullptr
                    : &sections[std::string(WithoutOuterBlanks(content.substr(1, close - 1)))];
      continue;
    }
    const bool nested = kBlanks.find(line[0]) != std::string_view::npos;
    const size_t equals = content.find('=');
    if (section == nullptr || nested || equals == std::string_view::npos) continue;
    const std::string key(WithoutOuterBlanks(content.substr(0, equals)));
    if (!key.empty())
      (*section)[key] = std::string(WithoutOuterBlanks(WithoutComment(content.substr(equals + 1))));
  }
  return sections;
}

}  // namespace winnow
