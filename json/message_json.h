#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace winnow {

enum class JsonLayout {
  kOneLine,   // no line breaks, not even at the end
  kIndented,  // two blanks per level, "\n" at the end
};

// Returns a message in Winnow's JSON form, used by the command line and over HTTP: proto3's JSON, with these
// differences:
//   - fields have the names of the .proto, as in job files;
//   - whole numbers are numbers up to 2^53 in size, text beyond that;
//   - beside a list `hyperparameters` of values there is an object `configuration` of the active ones by
//     name.
// Unset fields are written too, except messages and `optional` ones. NaN and the infinities are "NaN",
// "Infinity" and "-Infinity". The keys of maps are sorted. Invalid UTF-8 becomes U+FFFD. REQUIRES: a message
// of the program's own classes.
std::string MessageJson(const google::protobuf::Message& message, JsonLayout layout);

}  // namespace winnow
