// Columns of trials against each other, over gRPC: the contour over two hyperparameters, and the scatter.

#include <cmath>
#include <functional>
#include <map>

#include "tests/server/grpc/service_play.h"
#include "winnow/v1/insight.grpc.pb.h"

namespace winnow {
namespace {

using InsightStub = v1::InsightService::Stub;

// Two more hyperparameters, one of them categorical.
v1::TuningJobSpec ColumnsJob() {
  v1::TuningJobSpec spec = RandomJob(40, 4);
  v1::ParameterSpec& kind = *spec.add_parameters();
  kind.set_name("kind");
  kind.mutable_categorical()->add_values("a");
  kind.mutable_categorical()->add_values("b");
  v1::ParameterSpec& depth = *spec.add_parameters();
  depth.set_name("depth");
  depth.mutable_integer()->set_min(1);
  depth.mutable_integer()->set_max(5);
  return spec;
}

struct ColumnsPlay : ServicePlay {
  // `midway` is called once, while the job runs and about half of its trials have ended.
  explicit ColumnsPlay(const std::function<void(ColumnsPlay&)>& midway = nullptr)
      : worker(*this, "one", 2), id(Create(ColumnsJob())), stub(v1::InsightService::NewStub(channel)) {
    PlayToEnd(*this, id, {&worker}, [&](int step) {
      if (midway && step == 60) midway(*this);
    });
  }
  template <typename Method, typename Request, typename Response>
  grpc::Status Ask(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return ((*stub).*method)(&context, request, &response);
  }
  FakeWorker worker;
  std::string id;
  std::unique_ptr<InsightStub> stub;
};

TEST_CASE("Contour: a grid over both axes, and the trials on it", "[server]") {
  ColumnsPlay play;
  v1::GetContourRequest request;
  request.set_job_id(play.id);
  request.set_x("depth");
  request.set_y("kind");
  v1::Contour contour;
  REQUIRE(play.Ask(&InsightStub::GetContour, request, contour).ok());
  CHECK(contour.x_place_size() == 5);
  CHECK(contour.y_place_size() == 2);
  REQUIRE(contour.mean_size() == 10);
  CHECK(contour.deviation_size() == 10);
  CHECK(contour.trial_size() == 40);
  CHECK(contour.resource_level() == 4);
  std::map<int64_t, double> values;
  for (const v1::Trial& trial : play.Trials(play.id)) values[trial.number()] = trial.value();
  for (int i = 0; i < contour.trial_size(); ++i) CHECK(contour.value(i) == values.at(contour.trial(i)));
  // The same forest as that of a slice: the mean over `kind` is the marginal of `depth`.
  v1::GetSliceRequest slice;
  slice.set_job_id(play.id);
  slice.set_parameter("depth");
  v1::Slice drawn;
  REQUIRE(play.Ask(&InsightStub::GetSlice, slice, drawn).ok());
  for (int i = 0; i < 5; ++i)
    CHECK((contour.mean(i) + contour.mean(5 + i)) / 2 == Approx(drawn.marginal_mean(i)).epsilon(1e-9));
  request.set_max_points(10);
  request.set_cells(3);
  REQUIRE(play.Ask(&InsightStub::GetContour, request, contour).ok());
  CHECK(contour.trial_size() == 10);
  CHECK(contour.mean_size() <= 6);

  const auto refused = [&](const std::function<void(v1::GetContourRequest&)>& spoil) {
    v1::GetContourRequest bad = request;
    spoil(bad);
    const grpc::Status status = play.Ask(&InsightStub::GetContour, bad, contour);
    CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  CHECK_THAT(refused([](auto& r) { r.set_x("speed"); }), Catch::StartsWith("x: job "));
  CHECK_THAT(refused([](auto& r) { r.set_y("depth"); }), Catch::StartsWith("y: is \"depth\", as x is"));
  CHECK_THAT(refused([](auto& r) { r.set_cells(65); }), Catch::StartsWith("cells: 65"));
}

TEST_CASE("Insights: a changed range is the axis of slices and contours from then on", "[server]") {
  int asked = 0;
  ColumnsPlay whole([&](ColumnsPlay& play) {
    v1::GetSliceRequest of_slice;
    of_slice.set_job_id(play.id);
    of_slice.set_parameter("depth");
    v1::GetContourRequest of_contour;
    of_contour.set_job_id(play.id);
    of_contour.set_x("depth");
    of_contour.set_y("kind");
    const auto check_values = [&](int values) {
      v1::Slice slice;
      REQUIRE(play.Ask(&InsightStub::GetSlice, of_slice, slice).ok());
      CHECK(slice.marginal_x_size() == values);
      v1::Contour contour;
      REQUIRE(play.Ask(&InsightStub::GetContour, of_contour, contour).ok());
      CHECK(contour.x_place_size() == values);
      CHECK(contour.mean_size() == 2 * values);
    };
    check_values(5);
    v1::ChangeTuningJobRequest change;
    change.set_id(play.id);
    change.mutable_range()->set_parameter("depth");
    change.mutable_range()->set_max("9");
    v1::TuningJob job;
    REQUIRE(play.Call(&v1::TuningService::Stub::ChangeTuningJob, change, job).ok());
    check_values(9);
    ++asked;
  });
  CHECK(asked == 1);
}

TEST_CASE("Scatter: any columns, trial by trial", "[server]") {
  ColumnsPlay play;
  v1::GetScatterRequest request;
  request.set_job_id(play.id);
  v1::Scatter scatter;
  REQUIRE(play.Ask(&InsightStub::GetScatter, request, scatter).ok());
  CHECK(scatter.trials() == 40);
  CHECK(scatter.trial_size() == 40);
  CHECK(scatter.y().field() == "#objective");
  CHECK(scatter.color().field() == "#state");
  CHECK(scatter.color().values(static_cast<int>(scatter.color().value(0))) == "completed");
  const std::string objective = play.Describe(play.id).spec().objective().metric();
  request.set_x("kind");
  request.set_y("metric:" + objective);
  request.set_color("#trained");
  REQUIRE(play.Ask(&InsightStub::GetScatter, request, scatter).ok());
  REQUIRE(scatter.trial_size() == 40);
  CHECK(std::vector<std::string>(scatter.x().values().begin(), scatter.x().values().end()) ==
        std::vector<std::string>{"a", "b"});
  std::map<int64_t, v1::Trial> trials;
  for (const v1::Trial& trial : play.Trials(play.id)) trials[trial.number()] = trial;
  for (int i = 0; i < 40; ++i) {
    const v1::Trial& trial = trials.at(scatter.trial(i));
    CHECK(scatter.y().value(i) == trial.objective());
    CHECK(scatter.color().value(i) == trial.trained_resource());
  }
  request.add_filters("kind:a");
  request.set_max_points(3);
  REQUIRE(play.Ask(&InsightStub::GetScatter, request, scatter).ok());
  CHECK(scatter.trial_size() == 3);
  for (const double value : scatter.x().value()) CHECK(value == 0);
  request.set_color("wrong");
  const grpc::Status status = play.Ask(&InsightStub::GetScatter, request, scatter);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::StartsWith("color: job "));
}

TEST_CASE("Insights: trials are filtered by tags, and tables show them", "[server]") {
  ColumnsPlay play;
  for (const int64_t trial : {3, 5}) {
    v1::AnnotateRequest annotate;
    annotate.set_job_id(play.id);
    annotate.set_trial(trial);
    annotate.add_tags(trial == 3 ? "odd:1" : "even");
    v1::AnnotateResponse none;
    REQUIRE(play.Call(&v1::TuningService::Stub::Annotate, annotate, none).ok());
  }
  v1::QueryTrialsRequest request;
  request.set_job_id(play.id);
  request.add_filters("#tag:odd\\:1|even");
  v1::QueryTrialsResponse response;
  REQUIRE(play.Ask(&InsightStub::QueryTrials, request, response).ok());
  CHECK(response.total() == 2);
  CHECK(response.trials(0).annotation().tags(0) == "odd:1");
  request.add_filters("#tag:even");
  REQUIRE(play.Ask(&InsightStub::QueryTrials, request, response).ok());
  CHECK(response.total() == 1);
}

}  // namespace
}  // namespace winnow
