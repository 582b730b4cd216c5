#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

constexpr double kMostNodeSeconds = 1e12;  // in microseconds still exact in a double
constexpr double kMostCost = 1e12;
constexpr size_t kMostMetricBytes = 255;  // of a name, which is in keys; PostgreSQL's have at most some 2,700

// The value of a numeric field of a spec, or `otherwise` where it is not set, that is 0.
inline int64_t OrDefault(int64_t value, int64_t otherwise) { return value == 0 ? otherwise : value; }

// The wire form of a hyperparameter's value, and back. Inactive is a message without a value.
v1::HyperparameterValue ToProto(const std::string& name, const Value& value);
Value FromProto(const v1::HyperparameterValue& value);

// The text as a value of the range's kind ("1e2" is an integer too), inside the range or not. Absent: the
// text is not of that kind.
std::optional<Value> ReadValue(const Range& range, const std::string& text);

// A description of the texts inside the range: "a whole number from 1 to 9", "one of gbtree, dart".
std::string ExpectedValue(const Range& range);

}  // namespace winnow
