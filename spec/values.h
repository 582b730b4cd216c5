#pragma once

#include <optional>
#include <string>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

constexpr double kMostNodeSeconds = 1e12;  // their microseconds are exact in a double

// What a spec says, which is 0 where it says nothing.
inline int64_t OrDefault(int64_t value, int64_t otherwise) { return value == 0 ? otherwise : value; }

// Inactive leaves the value unset, and the other way round.
v1::HyperparameterValue ToProto(const std::string& name, const Value& value);
Value FromProto(const v1::HyperparameterValue& value);

// The text as a value of the range's kind ("1e2" is an integer too), whether it lies inside the range or not.
// Absent: the text is no such value.
std::optional<Value> ReadValue(const Range& range, const std::string& text);

// What a text has to be to be inside the range: "a whole number from 1 to 9", "one of gbtree, dart".
std::string ExpectedValue(const Range& range);

}  // namespace winnow
