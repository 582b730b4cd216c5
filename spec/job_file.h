#pragma once

#include <string_view>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

struct ParsedJobFile {
  winnow::v1::TuningJobSpec spec;  // the fields that could be read
  std::vector<Violation> violations;
};

// Reads the proto3 JSON form of TuningJobSpec: names in snake_case or lowerCamelCase, durations as "10s",
// enums by name or number, 64-bit integers as numbers or strings, null for "left out". The values of static
// hyperparameters, initial configurations and conditions may be numbers and booleans too. Violations name
// everything that is not of this form: unknown and repeated fields, wrong types, numbers out of range, two
// members of a oneof. A syntax error is the only violation, with its line and column. CheckSpec
// (spec/check.h) checks the meaning of the spec.
ParsedJobFile ParseJobFile(std::string_view json_text);

}  // namespace winnow
