#include "server/reads/warm_start_reading.h"

#include <fstream>
#include <set>

#include "scheduler/replay.h"
#include "spec/search_spec.h"
#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

using Stub = v1::TuningService::Stub;

struct WarmPlay : ServicePlay {
  v1::TuningJobSpec Spec(int64_t trials = 2) {
    v1::TuningJobSpec spec = RandomJob(trials, 4);
    spec.set_working_directory(folder.file("").substr(0, folder.file("").size() - 1));
    return spec;
  }
  grpc::Status Start(const v1::TuningJobSpec& spec) {
    v1::CreateTuningJobRequest create;
    *create.mutable_spec() = spec;
    return Call(&Stub::CreateTuningJob, create, job);
  }
  std::vector<EarlierResult> Earlier() {
    std::vector<EarlierResult> earlier;
    for (const Fact& fact : Facts(job.id())) {
      if (const auto* result = std::get_if<EarlierResult>(&fact.body)) earlier.push_back(*result);
    }
    return earlier;
  }
  v1::TuningJob job;
};

TEST_CASE("Warm start: the results of an ended job, with what it was started with itself", "[server]") {
  WarmPlay play;
  FakeWorker worker(play, "one", 1);
  worker.fails_at = {{3, 2}};
  v1::TuningJobSpec spec = play.Spec(4);
  REQUIRE(play.Start(spec).ok());
  CHECK(play.job.warm_start_text() == "");
  PlayToEnd(play, "job", {&worker});

  spec.mutable_warm_start()->add_jobs("job");
  REQUIRE(play.Start(spec).ok());
  CHECK(play.job.warm_start_text() == "3 results used: 3 from job job; 1 left out: 1 that failed.");
  std::vector<EarlierResult> earlier = play.Earlier();
  REQUIRE(earlier.size() == 3);
  CHECK(earlier[1].source == "job job, trial 2");
  CHECK(earlier[1].resource == 4);
  CHECK(earlier[1].objective == worker.objective(2, 4));
  CHECK(play.Facts("job-2").front().sequence == 1);
  CHECK(std::holds_alternative<EarlierResult>(play.Facts("job-2").front().body));
  PlayToEnd(play, "job-2", {&worker});
  CHECK(Verify(ToSearchSpec(spec), play.Facts("job-2")).ok());

  spec.mutable_warm_start()->add_jobs("job-2");  // knows those of the first too: they count once
  REQUIRE(play.Start(spec).ok());
  CHECK(play.Earlier().size() == 3 + 3);
}

TEST_CASE("Warm start: a job with repeats takes the value of another one's trial, not the mean of its levels",
          "[server]") {
  WarmPlay play;
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = play.Spec();
  REQUIRE(play.Start(spec).ok());
  PlayToEnd(play, "job", {&worker});
  spec.mutable_repeats()->set_seeds(3);
  spec.mutable_limits()->clear_max_trial_resource();
  spec.mutable_warm_start()->add_jobs("job");
  REQUIRE(play.Start(spec).ok());
  const std::vector<EarlierResult> earlier = play.Earlier();
  REQUIRE(earlier.size() == 2);
  CHECK(earlier[0].objective == worker.objective(1, 4));
}

TEST_CASE("Warm start: a table, and what of it does not fit", "[server]") {
  WarmPlay play;
  std::ofstream(play.folder.file("old.csv"))
      << "x,objective,resource\n0.25,1.5,9\n0.5,,9\n7,1,9\n,1,9\n0.75,2,\n"
         "0.5,3,few\n0.125,nan,9\n";
  v1::TuningJobSpec spec = play.Spec();
  spec.mutable_warm_start()->add_csv_files("old.csv");
  REQUIRE(play.Start(spec).ok());
  CHECK(play.job.warm_start_text() ==
        "2 results used: 2 from old.csv; 5 left out: 2 without a value, 1 with x outside its range, 1 "
        "without x, 1 "
        "with a resource that is not a whole number.");
  std::vector<EarlierResult> earlier = play.Earlier();
  REQUIRE(earlier.size() == 2);
  CHECK(Identical(earlier[0], EarlierResult{{0.25}, 1.5, 9, "old.csv, row 2"}));
  CHECK(Identical(earlier[1], EarlierResult{{0.75}, 2, 0, "old.csv, row 6"}));
  play.server = nullptr;  // it is the old coordinator's
  play.Restart();
  play.CheckStored();
  CHECK_THAT(play.Describe(play.job.id()).warm_start_text(), Catch::StartsWith("2 results used"));
}

TEST_CASE("Warm start: of a table of winnow analytics the value that ranked the trial counts", "[server]") {
  WarmPlay play;
  std::ofstream(play.folder.file("own.csv"))
      << "trial,state,x,objective,best_objective,best_resource,value,value_resource,resource\n"
         "1,COMPLETED,0.25,1.5,0.5,3,1,4,4\n"
         "2,FAILED,0.5,0.25,0.25,1,0.25,1,1\n"
         "3,CANCELLED,0.5,,,,,,0\n";
  v1::TuningJobSpec spec = play.Spec();
  spec.mutable_warm_start()->add_csv_files("own.csv");
  REQUIRE(play.Start(spec).ok());
  CHECK(play.job.warm_start_text() ==
        "1 result used: 1 from own.csv; 2 left out: 1 that failed, 1 without a value.");
  std::vector<EarlierResult> earlier = play.Earlier();
  REQUIRE(earlier.size() == 1);
  CHECK(Identical(earlier[0], EarlierResult{{0.25}, 1, 4, "own.csv, row 2"}));
}

TEST_CASE("Warm start: of more results than may be used the best and an even choice of the others are",
          "[server]") {
  constexpr int kRows = 10'500, kFew = 20, kMost = 10'000;
  WarmPlay play;
  std::ofstream many(play.folder.file("many.csv")), few(play.folder.file("few.csv"));
  many << "x,objective\n";
  for (int i = 0; i < kRows; ++i) many << (i + 0.5) / kRows << "," << (i * 11) % kRows << "\n";
  few << "x,objective\n";
  for (int i = 0; i < kFew; ++i) few << (i + 0.5) / kFew << "," << i << "\n";
  many.close();
  few.close();
  v1::TuningJobSpec spec = play.Spec();
  spec.mutable_warm_start()->add_csv_files("many.csv");
  spec.mutable_warm_start()->add_csv_files("few.csv");
  REQUIRE(play.Start(spec).ok());
  CHECK(
      play.job.warm_start_text() ==
      "10000 results used: 9980 from many.csv, 20 from few.csv; 520 left out: 520 beyond the 10000 that may "
      "be used.");
  const std::vector<EarlierResult> earlier = play.Earlier();
  REQUIRE(earlier.size() == kMost);
  std::set<double> kept;
  for (size_t i = 0; i + kFew < earlier.size(); ++i) {
    CHECK((i == 0 || earlier[i - 1].configuration < earlier[i].configuration));  // in the order of the table
    kept.insert(earlier[i].objective);
  }
  REQUIRE(kept.size() == kMost - kFew);
  int lost = 0;
  for (int value = 0; value < kRows; ++value) {
    if (kept.contains(value)) continue;
    CHECK(value > kRows / 3);
    ++lost;
  }
  CHECK(lost == 520);
  CHECK(*kept.rbegin() > kRows - 30);
}

TEST_CASE("Warm start: what cannot be used is refused, with its field", "[server]") {
  WarmPlay play;
  v1::TuningJobSpec other = play.Spec(1);
  other.mutable_objective()->set_goal(v1::MAXIMIZE);
  FakeWorker worker(play, "one", 1);
  REQUIRE(play.Start(other).ok());
  PlayToEnd(play, "job", {&worker});
  REQUIRE(play.Start(play.Spec(100)).ok());
  std::ofstream(play.folder.file("a.csv")) << "x,loss\n1,2\n";
  v1::TuningJobSpec spec = play.Spec();
  for (const char* job : {"job", "job-2", "nobody"}) spec.mutable_warm_start()->add_jobs(job);
  spec.mutable_warm_start()->add_csv_files("a.csv");
  spec.mutable_warm_start()->add_optuna_studies()->set_file("a.csv");
  grpc::Status status = play.Start(spec);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  v1::BadRequest bad;
  REQUIRE(bad.ParseFromString(status.error_details()));
  std::map<std::string, std::string> said;
  for (const auto& violation : bad.violations()) said[violation.field()] = violation.description();
  CHECK_THAT(said["warm_start.jobs[0]"], Catch::Contains("maximises"));
  CHECK_THAT(said["warm_start.jobs[1]"], Catch::Contains("still running"));
  CHECK_THAT(said["warm_start.jobs[2]"], Catch::Contains("\"nobody\""));
  CHECK_THAT(said["warm_start.csv_files[0]"],
             Catch::Contains("has 2 columns, none of which is named objective") &&
                 Catch::Contains("with commas between them") && !Catch::Contains("loss"));
  CHECK_THAT(said["warm_start.optuna_studies[0]"], Catch::Contains("not a SQLite file"));
}

}  // namespace
}  // namespace winnow
