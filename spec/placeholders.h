#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The names in "{{name}}" within a command's argument, in order; blanks round a name do not count. What is
// not closed is plain text.
std::vector<std::string> Placeholders(std::string_view argument);

// With every placeholder replaced by its value; one without a value stays as it is. Values are not
// searched for placeholders again.
std::string ReplacePlaceholders(std::string_view argument, const std::map<std::string, std::string>& values);

}  // namespace winnow
