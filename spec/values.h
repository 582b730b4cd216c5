#pragma once

#include <string>

#include "scheduler/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

v1::HyperparameterValue ToProto(const std::string& name, const Value& value);

// An unset value reads as the empty category.
Value FromProto(const v1::HyperparameterValue& value);

}  // namespace winnow
