#pragma once

#include <string_view>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

struct ParsedJobFile {
  winnow::v1::TuningJobSpec spec;  // what could be read
  std::vector<Violation> violations;
};

// Reads the proto3 JSON form of TuningJobSpec: names in snake_case or lowerCamelCase, durations as "10s",
// enums by name or number, 64-bit integers as numbers or strings, null for "left out". Hyperparameters'
// values, static ones, those of initial configurations and of conditions, may be numbers and booleans too.
// Violations name everything that is not of this form: syntax (with line and column; then nothing else),
// unknown and repeated fields, wrong types, numbers out of range, two members of a oneof. Whether the spec
// makes sense is CheckSpec's question (spec/check.h).
ParsedJobFile ParseJobFile(std::string_view json_text);

}  // namespace winnow
