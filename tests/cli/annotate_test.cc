#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

v1::TuningJob AnnotatedJob() {
  v1::TuningJob job = SampleJob();
  job.mutable_annotation()->add_tags("nightly");
  job.mutable_annotation()->add_tags("v1");
  job.mutable_annotation()->set_note("first line\nsecond \x1b[31mline");
  return job;
}

std::vector<std::string> Words(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return {words.begin(), words.end()};
}

using TagWords = std::vector<std::string>;

TEST_CASE("annotate: tags are added and removed, and the note stays unless it is given", "[cli]") {
  FakeService service;
  service.jobs = {AnnotatedJob()};
  const Result result =
      RunWinnow({"annotate", "latest", "--tag", "best,a", "--untag", "v1"}, service.address());
  CHECK(result.code == 0);
  CHECK(service.annotated.job_id() == "bank");
  CHECK(service.annotated.trial() == 0);
  CHECK(Words(service.annotated.tags()) == TagWords{"a", "best", "nightly"});
  CHECK(service.annotated.note() == AnnotatedJob().annotation().note());
  CHECK(result.out ==
        "bank\n  tags      a, best, nightly\n  note      first line\n            second  [31mline\n");
  const Result cleared =
      RunWinnow({"annotate", "bank", "--note", "", "--untag", "v1,nightly", "-o", "json"}, service.address());
  CHECK(service.annotated.tags().empty());
  CHECK(service.annotated.note().empty());
  CHECK(nlohmann::json::parse(cleared.out)["annotation"]["note"] == "");
}

TEST_CASE("annotate: a trial, and without a change what it has", "[cli]") {
  FakeService service;
  service.jobs = {AnnotatedJob()};
  service.trials.emplace_back().set_number(3);
  service.trials.back().mutable_annotation()->add_tags("odd");
  RunWinnow({"annotate", "bank", "3", "--note", "look here"}, service.address());
  CHECK(service.annotated.trial() == 3);
  CHECK(Words(service.annotated.tags()) == TagWords{"odd"});
  CHECK(service.annotated.note() == "look here");
  service.annotated.Clear();
  CHECK(RunWinnow({"annotate", "bank", "3"}, service.address()).out == "bank trial 3\n  tags      odd\n");
  CHECK(service.annotated.job_id().empty());
}

TEST_CASE("list, trials: filters by tag, state and text are the server's", "[cli]") {
  FakeService service;
  service.jobs = {AnnotatedJob()};
  const Result list =
      RunWinnow({"list", "--tag", "nightly", "--tag", "v1", "--state", "failed,RUNNING", "--search", "Adam"},
                service.address());
  CHECK(list.code == 0);
  CHECK(Words(service.jobs_asked.tags()) == TagWords{"nightly", "v1"});
  REQUIRE(service.jobs_asked.states_size() == 2);
  CHECK(service.jobs_asked.states(0) == v1::TuningJob::FAILED);
  CHECK(service.jobs_asked.states(1) == v1::TuningJob::RUNNING);
  CHECK(service.jobs_asked.search() == "Adam");
  CHECK_THAT(list.out, Catch::Contains("TAGS") && Catch::Contains("nightly, v1"));
  CHECK_THAT(RunWinnow({"describe", "bank"}, service.address()).out,
             Catch::Contains("  tags      nightly, v1\n  note      first line\n"));
  RunWinnow({"trials", "bank", "--tag", "odd"}, service.address());
  CHECK(Words(service.trials_asked.tags()) == TagWords{"odd"});
  service.jobs.clear();
  CHECK(RunWinnow({"list", "--search", "x"}, service.address()).out == "There are no such jobs\n");
  CHECK_THAT(RunWinnow({"list", "--state", "paused"}, service.address()).err, Catch::Contains("stopping"));
}

}  // namespace
}  // namespace winnow
