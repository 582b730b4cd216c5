// Job files, and the specs that clients send: read, checked, and if valid planned.

#include "scheduler/plan.h"
#include "scheduler/validate.h"
#include "spec/checks/check_spec.h"
#include "spec/initial_configurations.h"
#include "spec/job_file.h"
#include "spec/plan_message.h"
#include "spec/search_spec.h"
#include "spec/warnings.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  const ParsedJobFile file = ParseJobFile({reinterpret_cast<const char*>(data), size});
  for (const Violation& violation : file.violations)
    fuzz::Require(!violation.description.empty(), "a violation says what is wrong");
  if (!CheckSpec(file.spec).empty()) return 0;
  (void)SpecWarnings(file.spec);
  const SearchSpec search = ToSearchSpec(file.spec);
  fuzz::Require(ValidateSearch(search).empty(), "a spec that is accepted is a valid search");
  (void)InitialConfigurations(file.spec, search);
  (void)PlanMessage(MakePlan(search)).SerializeAsString();
  return 0;
}
