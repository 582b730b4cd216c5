#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// The values by which a changed range is recorded: the least and the greatest of an integer or continuous
// range, all of a discrete or categorical one.
std::vector<Value> ValuesOf(const Range& range);

// Whether a range of this kind is recorded by all of its values.
bool IsListed(const Range& range);

// The range of the same kind and scaling that has these values (ValuesOf). Absent: they are of another kind,
// in the wrong order or number, or not those of a valid range.
std::optional<Range> WithValues(const Range& range, const std::vector<Value>& values);

// The least range that has the values of both, which are of one kind and scaling. Categories of `wider` that
// the other lacks come last.
Range Joined(const Range& range, const Range& wider);

// The value of the range that is nearest to one of the same kind. REQUIRES the range is not categorical.
Value NearestIn(const Range& range, const Value& value);

// "0.001 to 0.1"; "gbtree, dart"
std::string RangeText(const std::vector<Value>& values, bool listed);

}  // namespace winnow
