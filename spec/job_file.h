#pragma once

#include <string_view>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The field of a violation of the whole.
inline constexpr std::string_view kWholeJob = "job file";

struct ParsedJobFile {
  winnow::v1::TuningJobSpec spec;  // the fields that could be read
  std::vector<Violation> violations;
};

// Reads the proto3 JSON form of TuningJobSpec: names in snake_case or lowerCamelCase, durations as "10s",
// enums by name or number, 64-bit integers as numbers or strings, null for "left out". The values of static
// hyperparameters, initial configurations and conditions may be numbers and booleans too. Violations name
// everything that is not of this form: unknown and repeated fields, wrong types, numbers out of range, two
// members of a oneof. A syntax error is the only violation, with its line and column. CheckSpec
// (spec/checks/check_spec.h) checks the meaning of the spec.
ParsedJobFile ParseJobFile(std::string_view json_text);
// The same of a member of a JSON object, such as a request's "spec". Nothing is read, and nothing is
// violated, where the text is not JSON or has no such member.
ParsedJobFile ParseJobIn(std::string_view json_text, std::string_view member);

}  // namespace winnow
