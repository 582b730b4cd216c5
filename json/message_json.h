#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace winnow {

enum class JsonLayout {
  kOneLine,   // no line break, none at the end either
  kIndented,  // two blanks a level, "\n" at the end
};

// A message as Winnow writes JSON, on the command line and over HTTP alike: proto3's JSON form, but
//  - fields have the names of the .proto, which are those of job files;
//  - whole numbers are numbers up to 2^53 in size, beyond that text;
//  - beside a list `hyperparameters` of values stands an object `configuration`, the active ones by name.
// Fields that are not set are written too, except messages and `optional` ones. NaN and the infinities are
// "NaN", "Infinity" and "-Infinity". The keys of maps are sorted. Bytes of text that are not UTF-8 become U+FFFD.
// REQUIRES a message of the program's own classes.
std::string MessageJson(const google::protobuf::Message& message, JsonLayout layout);

}  // namespace winnow
