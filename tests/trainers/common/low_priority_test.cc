#include "trainers/common/low_priority.h"

#include <sys/resource.h>

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Low priority: the work has it, and the caller keeps its own", "[trainer]") {
  const int before = getpriority(PRIO_PROCESS, 0);
  int during = before;
  const absl::Status status = AtLowPriority([&during] {
    during = getpriority(PRIO_PROCESS, 0);
    return absl::AbortedError("its result");
  });
  CHECK(status == absl::AbortedError("its result"));
  CHECK((during > before || before == 19));
  CHECK(getpriority(PRIO_PROCESS, 0) == before);
}

}  // namespace
}  // namespace winnow
