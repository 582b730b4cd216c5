#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/message.h"

namespace winnow {

// Percent-decodes; a malformed escape stays as it is. "+" is a plus.
std::string PercentDecoded(std::string_view text);
// Percent-encodes all but letters, digits and "-_.~"; '/' too unless `keep_slash`.
std::string PercentEncoded(std::string_view text, bool keep_slash);

// Without blanks at both ends.
std::string_view WithoutBlanks(std::string_view text);
std::vector<std::string> SplitAt(std::string_view text, char separator);
// Removes `front` from the begin; false if it is not there.
bool ConsumeFront(std::string_view& text, std::string_view front);
// ASCII letters in lower case.
std::string Lowered(std::string_view text);

// The target of a request to S3 or another service.
struct AwsTarget {
  std::string path;                                        // as sent: "/bucket/key%20b"
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order; "uploads" has the value ""

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string value(std::string_view name) const { return find(name) == nullptr ? "" : *find(name); }
  const std::string* find(std::string_view name) const;
};
AwsTarget ParseAwsTarget(std::string_view target);

}  // namespace winnow
