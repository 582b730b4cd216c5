#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The names in "{{name}}" within a command's argument, in order, without blanks around them. Text after an
// unclosed "{{" is plain.
std::vector<std::string> Placeholders(std::string_view argument);

// The command without the arguments that name a hyperparameter which does not exist. If such an argument is a
// placeholder and nothing else, and the value of the flag before it ("--depth", "{{depth}}"), the flag goes
// too.
std::vector<std::string> ExistingArguments(const std::vector<std::string>& command,
                                           const std::function<bool(const std::string&)>& exists);

// The argument with every placeholder replaced by its value. A placeholder without a value stays as it is.
// Placeholders within values are not replaced.
std::string ReplacePlaceholders(std::string_view argument, const std::map<std::string, std::string>& values);

}  // namespace winnow
