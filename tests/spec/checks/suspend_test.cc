#include "spec/checks/suspend.h"

#include "spec/job_file.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

// A command's job with further members of its trainer, and of the job.
std::string SuspendJob(const std::string& trainer, const std::string& more = "") {
  return CommandJob(R"("grace_period": "5s"
  },)",
                    R"("grace_period": "5s", )" + trainer + "}," + more);
}

constexpr char kSuspends[] = R"("resumes": false, "warm": "SUSPEND")";

TEST_CASE("Suspend: for programs that cannot resume", "[spec]") {
  CHECK(Listed(Violations(SuspendJob(kSuspends))) == "");
  const SearchSpec search = ToSearchSpec(ParseJobFile(SuspendJob(kSuspends)).spec);
  CHECK(search.suspends);
  CHECK_FALSE(search.resumes);
  CHECK_FALSE(ToSearchSpec(ParseJobFile(SuspendJob(R"("resumes": false)")).spec).suspends);
}

TEST_CASE("Suspend: what cannot be suspended is refused by name", "[spec]") {
  const auto refused = [](const std::string& job, const std::string& why) {
    const std::vector<Violation> found = Violations(job);
    REQUIRE_FALSE(found.empty());
    CHECK(found[0].field == "trainer.warm");
    CHECK(found[0].description.find(why) != std::string::npos);
  };
  refused(SuspendJob(R"("warm": "SUSPEND")"), "expected it with trainer.command and \"resumes\": false only");
  refused(SuspendJob(R"("resumes": true, "warm": "SUSPEND")"), "\"resumes\": false only");
  refused(BuiltinJob(R"("builtin": "gbdt")", R"("builtin": "gbdt", "warm": "SUSPEND")"), "trainer.command");
  refused(SuspendJob(kSuspends, R"("cluster": {"nodes": 2},)"), "is SUSPEND beside several nodes");
  refused(SuspendJob(kSuspends, R"("cluster": {"gpus": 1},)"), "beside GPUs");
  refused(SuspendJob(kSuspends, R"("cluster": {"gpu_share": 0.5},)"), "beside GPUs");
}

}  // namespace
}  // namespace winnow
