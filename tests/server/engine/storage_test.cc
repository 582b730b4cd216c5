#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

TEST_CASE(
    "Storage: a trial that resumes where its checkpoint is not starts from nothing, and that is counted",
    "[server]") {
  Play play;
  FakeWorker here(play, "here", 1, "disk-1");
  std::string id = play.Create(HyperbandJob(9));
  // The first rung of nine trials is trained here, and this worker leaves before it goes on with the best.
  int steps = 0;
  do {
    REQUIRE(here.Step().ok());
    REQUIRE(++steps < 1000);
  } while (play.Describe(id).brackets_size() == 0 || play.Describe(id).brackets(0).rungs(0).arrived() < 9);
  here.leaving = true;
  for (int i = 0; i < 5; ++i) REQUIRE(here.Tell().ok());

  FakeWorker there(play, "there", 1, "disk-2");
  v1::TuningJob job = PlayToEnd(play, id, {&there});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.spend().resource() > job.planned_resource());
  int64_t trained = 0;
  for (const v1::Trial& trial : play.Trials(id)) trained += trial.trained_resource();
  CHECK(job.spend().resource() == trained);
}

}  // namespace
}  // namespace winnow
