#include "tests/spec/malformed.h"

#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {

void CheckCases(const std::vector<MalformedCase>& cases) {
  for (const MalformedCase& c : cases) {
    const std::vector<Violation> violations = Violations(c.job_file);
    CAPTURE(c.field, Listed(violations));
    REQUIRE(violations.size() == 1);
    CHECK(violations[0].field == c.field);
    for (const std::string& fragment : c.fragments) {
      CAPTURE(fragment);
      CHECK(violations[0].description.find(fragment) != std::string::npos);
    }
  }
}

}  // namespace winnow
