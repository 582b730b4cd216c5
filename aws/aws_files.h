#pragma once

#include <map>
#include <string>
#include <string_view>

namespace winnow {

// A file as ~/.aws/credentials and ~/.aws/config: section -> key -> value. Lines that are none of a section,
// "key = value" and a comment are skipped, and so are the indented lines of nested settings. A later value of
// a key counts. Never fails: what is no such file has no section.
using AwsSections = std::map<std::string, std::map<std::string, std::string>, std::less<>>;
AwsSections ParseAwsFile(std::string_view text);

// `text` without blanks and line ends around it.
std::string_view WithoutOuterBlanks(std::string_view text);

}  // namespace winnow
