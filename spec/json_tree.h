#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

struct JsonMember;

// A value of a JSON document. Repeated members and the text of numbers are kept.
struct JsonNode {
  enum class Kind { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;  // a string's value; a number as written, integers in plain decimal
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // in order

  // The value as JSON for messages, cut to about 60 bytes.
  std::string Shown() const;
};

struct JsonMember {
  std::string name;
  JsonNode value;
};

struct JsonTree {
  JsonNode root;
  std::string error;  // "line 3, column 7: …"; "": none
};

// Never throws. Nesting deeper than 64 levels is an error. Comments, `// …` and `/* … */`, are white space.
JsonTree ParseJson(std::string_view text);

}  // namespace winnow
