#pragma once

#include <string>
#include <vector>

namespace winnow {

struct MalformedCase {
  std::string job_file;
  std::string field;
  std::vector<std::string> fragments;  // of the description: the value, and what was expected
};

// Each case must give exactly one violation, of this field and with all of these fragments.
void CheckCases(const std::vector<MalformedCase>& cases);

}  // namespace winnow
