#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace winnow {

// Sets the fields of the JSON object `body` in an empty message as protobuf's own parser would, which takes
// several times as long: it makes tables of the message's type for every body. Returns false, with `request`
// in any state, where that parser is to decide: on every error, and on what few bodies have (maps, bytes,
// enums, numbers as text, null, a name that is given twice).
bool ReadSimpleBody(const std::string& body, google::protobuf::Message& request);

}  // namespace winnow
