#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>

#include "spec/new_job.h"
#include "tests/server/engine/stuck_coordinator.h"
#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

using Stub = v1::TuningService::Stub;

TEST_CASE("Service: a job is created, described and listed", "[server]") {
  ServicePlay play;
  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = HyperbandJob(9);
  create.set_request_id("once");
  v1::TuningJob job;
  REQUIRE(play.Call(&Stub::CreateTuningJob, create, job).ok());
  CHECK(job.id() == "job");
  CHECK(job.state() == v1::TuningJob::RUNNING);
  CHECK(job.planned_trials() == 17);
  CHECK(job.strategy_text() != "");
  CHECK(google::protobuf::util::MessageDifferencer::Equals(job.spec(), NewJobSpec(create.spec())));
  v1::TuningJob again;
  REQUIRE(play.Call(&Stub::CreateTuningJob, create, again).ok());
  CHECK(again.id() == "job");

  create.clear_request_id();
  REQUIRE(play.Call(&Stub::CreateTuningJob, create, again).ok());
  CHECK(again.id() == "job-2");
  v1::DescribeTuningJobRequest describe;
  describe.set_id("job-2");
  REQUIRE(play.Call(&Stub::DescribeTuningJob, describe, job).ok());
  CHECK(job.id() == "job-2");

  v1::ListTuningJobsRequest list;
  list.set_page_size(1);
  v1::ListTuningJobsResponse page;
  REQUIRE(play.Call(&Stub::ListTuningJobs, list, page).ok());
  REQUIRE(page.jobs_size() == 1);
  CHECK(page.jobs(0).id() == "job-2");
  list.set_page_token(page.next_page_token());
  REQUIRE(play.Call(&Stub::ListTuningJobs, list, page).ok());
  CHECK(page.jobs(0).id() == "job");
  CHECK(page.next_page_token() == "");
}

TEST_CASE("Service: what a newer client asks for is refused and not left out", "[server]") {
  constexpr int kFuture = 9999;
  ServicePlay play;
  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = HyperbandJob(9);
  auto* limits = create.mutable_spec()->mutable_limits();
  limits->GetReflection()->MutableUnknownFields(limits)->AddVarint(kFuture, 1);
  v1::TuningJob job;
  grpc::Status status = play.Call(&Stub::CreateTuningJob, create, job);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(),
             Catch::StartsWith("spec.limits has a setting that this server, of version "));
  v1::PreviewTuningJobRequest preview;
  *preview.mutable_spec() = create.spec();
  v1::TuningPlan plan;
  CHECK(play.Call(&Stub::PreviewTuningJob, preview, plan).error_message() == status.error_message());

  limits->DiscardUnknownFields();
  REQUIRE(play.Call(&Stub::CreateTuningJob, create, job).ok());
  v1::StopTuningJobRequest stop;
  stop.set_id(job.id());
  stop.GetReflection()->MutableUnknownFields(&stop)->AddVarint(kFuture, 1);
  status = play.Call(&Stub::StopTuningJob, stop, job);
  CHECK_THAT(status.error_message(), Catch::StartsWith("the request has a setting"));
  v1::CompleteTrialRequest complete;
  complete.set_job_id(job.id());
  complete.GetReflection()->MutableUnknownFields(&complete)->AddVarint(kFuture, 1);
  v1::CompleteTrialResponse completed;
  CHECK(play.Call(&Stub::CompleteTrial, complete, completed).error_message() == status.error_message());
  // What only looks is answered as far as it is known.
  v1::DescribeTuningJobRequest describe;
  describe.set_id("job");
  describe.GetReflection()->MutableUnknownFields(&describe)->AddVarint(kFuture, 1);
  CHECK(play.Call(&Stub::DescribeTuningJob, describe, job).ok());
}

TEST_CASE("Service: everything that is wrong with a spec comes in one answer", "[server]") {
  ServicePlay play;
  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = RandomJob(3);
  create.mutable_spec()->mutable_parameters(0)->mutable_continuous()->set_min(2);  // above max
  create.mutable_spec()->mutable_objective()->set_metric("nothing");
  create.mutable_spec()->set_working_directory("/no/such/folder");
  create.set_request_id(std::string(200, 'r'));
  v1::TuningJob job;
  grpc::Status status = play.Call(&Stub::CreateTuningJob, create, job);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  v1::BadRequest bad;
  REQUIRE(bad.ParseFromString(status.error_details()));
  std::string fields;
  for (const auto& violation : bad.violations()) {
    fields += violation.field() + " ";
    CHECK(violation.description() != "");
    CHECK_THAT(status.error_message(), Catch::Contains(violation.description()));
  }
  CHECK_THAT(fields, Catch::Contains("parameters[0]") && Catch::Contains("objective.metric") &&
                         Catch::Contains("working_directory") && Catch::Contains("request_id"));
  v1::ListTuningJobsResponse none;
  REQUIRE(play.Call(&Stub::ListTuningJobs, v1::ListTuningJobsRequest(), none).ok());
  CHECK(none.jobs_size() == 0);
}

TEST_CASE("Service: an event says why a weak bracket was ended", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 16);
  worker.objective = [](TrialNumber trial, int64_t level) {  // the trials of the first bracket are better
    return (trial <= 81 ? 0 : 10) + 0.01 * static_cast<double>(trial) + 1.0 / static_cast<double>(level);
  };
  PlayToEnd(play, play.Create(HyperbandJob(81)), {&worker});
  v1::DescribeTuningJobRequest request;
  request.set_id("job");
  v1::TuningJob job;
  REQUIRE(play.Call(&Stub::DescribeTuningJob, request, job).ok());
  CHECK(job.brackets(0).end_reason() == "");
  CHECK_THAT(job.brackets(1).end_reason(), Catch::Contains("bracket"));
  CHECK(job.spend().resource() < job.planned_resource());
}

TEST_CASE("Service: the plan is shown without starting anything", "[server]") {
  ServicePlay play;
  v1::PreviewTuningJobRequest preview;
  *preview.mutable_spec() = HyperbandJob(81);
  preview.mutable_spec()->clear_hyperband();
  preview.mutable_spec()->mutable_pruner()->set_max_resource(81);
  preview.mutable_spec()->mutable_pruner()->set_stop_weak_brackets(false);  // all of it is trained
  v1::TuningPlan plan;
  REQUIRE(play.Call(&Stub::PreviewTuningJob, preview, plan).ok());
  std::vector<int64_t> widths;
  for (const auto& bracket : plan.brackets()) widths.push_back(bracket.rungs(0).trials());
  CHECK(widths == std::vector<int64_t>{81, 34, 15, 8, 5});
  CHECK(plan.trials() == 143);
  CHECK(plan.resource() == 1581);
  CHECK(plan.resource_without_resume() == 1902);
  CHECK(plan.strategy_text() != "");
  CHECK(plan.elapsed_seconds() == 0);  // there is nothing to estimate from
  preview.set_slots(4);
  preview.set_unit_seconds(2);
  REQUIRE(play.Call(&Stub::PreviewTuningJob, preview, plan).ok());
  CHECK(plan.elapsed_seconds() >= 1581 * 2 / 4);
  CHECK(plan.elapsed_seconds() < 1581 * 2);
  CHECK(plan.busy_fraction() > 0.5);
  CHECK(plan.busy_fraction() <= 1);
  CHECK(plan.startup_fraction() == 0);
  const double without = plan.elapsed_seconds();
  preview.set_startup_seconds(6);
  REQUIRE(play.Call(&Stub::PreviewTuningJob, preview, plan).ok());
  CHECK(plan.elapsed_seconds() > without);
  CHECK(plan.startup_fraction() > 0);
  CHECK(plan.startup_fraction() < 1);
  preview.set_startup_seconds(-1);
  CHECK_THAT(play.Call(&Stub::PreviewTuningJob, preview, plan).error_message(),
             Catch::StartsWith("startup_seconds: is -1"));
  preview.clear_startup_seconds();
  preview.set_slots(-1);
  CHECK_THAT(play.Call(&Stub::PreviewTuningJob, preview, plan).error_message(),
             Catch::StartsWith("slots: is -1"));
  preview.clear_slots();
  preview.mutable_spec()->clear_parameters();
  CHECK(play.Call(&Stub::PreviewTuningJob, preview, plan).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Service: trials by order, state and page", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 3);
  std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  v1::ListTrialsRequest request;
  request.set_job_id(id);
  request.set_order_by("objective");
  request.set_page_size(4);
  std::vector<double> values;
  v1::ListTrialsResponse page;
  do {
    REQUIRE(play.Call(&Stub::ListTrials, request, page).ok());
    CHECK(page.total_size() == 17);
    for (const auto& trial : page.trials()) values.push_back(trial.best_objective());
    request.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  REQUIRE(values.size() == 17);
  CHECK(std::is_sorted(values.begin(), values.end()));  // it is minimised: best first

  request.clear_page_token();
  request.set_order_by("x desc");
  request.set_page_size(0);
  request.add_states(v1::Trial::COMPLETED);
  REQUIRE(play.Call(&Stub::ListTrials, request, page).ok());
  CHECK(page.total_size() > 0);
  for (int i = 0; i < page.trials_size(); ++i) {
    CHECK(page.trials(i).state() == v1::Trial::COMPLETED);
    if (i > 0) {
      CHECK(page.trials(i).hyperparameters(0).continuous() <=
            page.trials(i - 1).hyperparameters(0).continuous());
    }
  }
}

TEST_CASE("Service: learning curves, a trial's story and analytics", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  worker.fails_at = {{2, 2}};
  std::string id = play.Create(RandomJob(3, 4));
  PlayToEnd(play, id, {&worker});

  v1::QueryMetricsRequest query;
  query.set_job_id(id);
  query.set_page_size(5);
  query.add_metrics("loss");
  std::vector<std::pair<int64_t, int64_t>> points;
  v1::QueryMetricsResponse page;
  do {
    REQUIRE(play.Call(&Stub::QueryMetrics, query, page).ok());
    for (const auto& point : page.points()) points.emplace_back(point.trial(), point.resource());
    query.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  using P = std::pair<int64_t, int64_t>;
  CHECK(points == std::vector<P>{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 1}, {3, 1}, {3, 2}, {3, 3}, {3, 4}});

  v1::DescribeTrialRequest describe;
  describe.set_job_id(id);
  describe.set_trial(2);
  v1::DescribeTrialResponse trial;
  REQUIRE(play.Call(&Stub::DescribeTrial, describe, trial).ok());
  REQUIRE(trial.attempts_size() == 1);
  CHECK(trial.attempts(0).outcome() == "failed");
  CHECK(trial.attempts(0).reason() == "exit code 3: out of luck");
  CHECK(trial.attempts(0).ranks(0).worker() == "one");
  CHECK(trial.attempts(0).has_end_time());
  CHECK(trial.events_size() >= 4);

  v1::GetAnalyticsRequest analytics;
  analytics.set_job_id(id);
  v1::GetAnalyticsResponse all;
  REQUIRE(play.Call(&Stub::GetAnalytics, analytics, all).ok());
  CHECK(all.trials_size() == 3);
  CHECK(all.job().spend().resource() == 9);
  CHECK(all.job().spend().full_resource() == 12);

  analytics.set_page_size(2);
  v1::GetAnalyticsResponse begin;
  REQUIRE(play.Call(&Stub::GetAnalytics, analytics, begin).ok());
  CHECK(begin.job().id() == id);
  CHECK(begin.trials_size() == 2);
  analytics.set_page_token(begin.next_page_token());
  v1::GetAnalyticsResponse rest;
  REQUIRE(play.Call(&Stub::GetAnalytics, analytics, rest).ok());
  CHECK_FALSE(rest.has_job());
  CHECK(rest.next_page_token().empty());
  begin.MergeFrom(rest);
  begin.clear_next_page_token();
  CHECK(google::protobuf::util::MessageDifferencer::Equals(begin, all));
}

TEST_CASE("Service: analytics that no response could hold are refused, and come in pages", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 8);
  v1::TuningJobSpec spec = RandomJob(44, 1);
  v1::ParameterSpec* text = spec.add_parameters();
  text->set_name("text");
  for (const char letter : {'a', 'b'}) text->mutable_categorical()->add_values(std::string(400'000, letter));
  const std::string id = play.Create(spec);
  PlayToEnd(play, id, {&worker});

  v1::GetAnalyticsRequest analytics;
  analytics.set_job_id(id);
  v1::GetAnalyticsResponse page;
  const grpc::Status refused = play.Call(&Stub::GetAnalytics, analytics, page);
  CHECK(refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(refused.error_message() ==
        "page_size is 0; expected 1 to 10000, because 44 trials take more than the 16 MiB of a response");
  analytics.set_page_size(8);
  int64_t trials = 0;
  do {
    const grpc::Status got = play.Call(&Stub::GetAnalytics, analytics, page);
    INFO(got.error_message());
    REQUIRE(got.ok());
    trials += page.trials_size();
    analytics.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  CHECK(trials == 44);
}

TEST_CASE("Service: a trial with very many values is described with the newest", "[server]") {
  constexpr int kLevels = 10'003, kMost = 10'000;
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(1, kLevels));
  REQUIRE(worker.Tell().ok());
  for (int i = 0; i < kLevels; ++i) worker.Train();
  REQUIRE(worker.Tell().ok());

  v1::DescribeTrialRequest describe;
  describe.set_job_id(id);
  describe.set_trial(1);
  v1::DescribeTrialResponse described;
  REQUIRE(play.Call(&Stub::DescribeTrial, describe, described).ok());
  std::vector<std::string> values;
  for (const v1::TuningJobEvent& event : described.events()) {
    if (event.text().find("reported") != std::string::npos) values.push_back(event.text());
  }
  REQUIRE(values.size() == kMost);
  CHECK_THAT(values.front(), Catch::Contains("at resource 4. 3 earlier values are left out here"));
  CHECK_THAT(values.back(), Catch::EndsWith("at resource 10003."));
  CHECK_THAT(described.events(0).text(), !Catch::Contains("reported"));
}

TEST_CASE("Service: what does not exist or makes no sense is refused by name", "[server]") {
  ServicePlay play;
  std::string id = play.Create(RandomJob(1));
  struct Refusal {
    grpc::Status status;
    grpc::StatusCode code;
    const char* words;
  };
  auto trials = [&](auto change) {
    v1::ListTrialsRequest request;
    request.set_job_id(id);
    change(request);
    v1::ListTrialsResponse response;
    return play.Call(&Stub::ListTrials, request, response);
  };
  auto metrics = [&](auto change) {
    v1::QueryMetricsRequest request;
    request.set_job_id(id);
    change(request);
    v1::QueryMetricsResponse response;
    return play.Call(&Stub::QueryMetrics, request, response);
  };
  auto logs = [&](auto change) {
    v1::GetLogsRequest request;
    request.set_job_id(id);
    request.set_trial(1);
    change(request);
    v1::GetLogsResponse response;
    return play.Call(&Stub::GetLogs, request, response);
  };
  auto jobs = [&](auto change) {
    v1::ListTuningJobsRequest request;
    change(request);
    v1::ListTuningJobsResponse response;
    return play.Call(&Stub::ListTuningJobs, request, response);
  };
  auto named = [&](auto method, auto request, auto response) {
    request.set_id("nobody");
    return play.Call(method, request, response);
  };
  constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
  constexpr auto kNotFound = grpc::StatusCode::NOT_FOUND;
  std::vector<Refusal> refusals = {
      {named(&Stub::DescribeTuningJob, v1::DescribeTuningJobRequest(), v1::TuningJob()), kNotFound,
       "\"nobody\""},
      {named(&Stub::StopTuningJob, v1::StopTuningJobRequest(), v1::TuningJob()), kNotFound, "\"nobody\""},
      {named(&Stub::DeleteTuningJob, v1::DeleteTuningJobRequest(), v1::DeleteTuningJobResponse()), kNotFound,
       "\"nobody\""},
      {trials([](auto& r) { r.set_job_id("nobody"); }), kNotFound, "\"nobody\""},
      {trials([](auto& r) { r.set_page_size(-1); }), kInvalid, "page_size: -1"},
      {trials([](auto& r) { r.set_page_size(10'001); }), kInvalid, "1 to 10000"},
      {trials([](auto& r) { r.set_page_token("rubbish"); }), kInvalid, "page_token"},
      {trials([](auto& r) { r.set_order_by("colour"); }), kInvalid, "number, objective, resource"},
      {trials([](auto& r) { r.add_states(static_cast<v1::Trial::State>(77)); }), kInvalid, "states: 77"},
      {metrics([](auto& r) { r.set_page_size(1'000'000); }), kInvalid, "page_size: 1000000"},
      {metrics([](auto& r) { r.set_page_token("1.2.x"); }), kInvalid, "page_token"},
      {metrics([](auto& r) { r.add_metrics(std::string("a\0b", 3)); }), kInvalid, "metrics[0]: holds a NUL"},
      {jobs([](auto& r) { r.set_search(std::string("a\0b", 3)); }), kInvalid, "search: holds a NUL"},
      {logs([](auto& r) { r.set_trial(9); }), kNotFound, "no trial 9"},
      {logs([](auto& r) { r.set_limit(5 << 20); }), kInvalid, "limit: 5242880"},
      {logs([](auto& r) { r.set_offset(-1); }), kInvalid, "offset: -1"},
      {logs([](auto& r) { r.mutable_wait()->set_seconds(61); }), kInvalid, "wait: 61"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.words << " | " << refusal.status.error_message());
    CHECK(refusal.status.error_code() == refusal.code);
    CHECK_THAT(refusal.status.error_message(), Catch::Contains(refusal.words));
  }
}

TEST_CASE("Service: a token of one query is refused by another", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(3, 1));
  PlayToEnd(play, id, {&worker});
  v1::ListTrialsRequest request;
  request.set_job_id(id);
  request.set_page_size(1);
  v1::ListTrialsResponse page;
  REQUIRE(play.Call(&Stub::ListTrials, request, page).ok());
  request.set_page_token(page.next_page_token());
  request.set_order_by("objective");
  CHECK(play.Call(&Stub::ListTrials, request, page).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Service: a worker syncs over the wire", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(1));
  grpc::ClientContext context;
  v1::SyncResponse response;
  REQUIRE(play.workers->Sync(&context, worker.Request(), &response).ok());
  CHECK(response.assignments_size() == 1);
  CHECK(response.lease().seconds() == 15);
  CHECK(response.next_interval().seconds() == 5);
  v1::ListWorkersResponse list;
  REQUIRE(play.Call(&Stub::ListWorkers, v1::ListWorkersRequest(), list).ok());
  REQUIRE(list.workers_size() == 1);
  CHECK(list.workers(0).name() == "one");
  CHECK(list.workers(0).used_slots() == 1);
  CHECK(list.workers(0).state() == v1::Worker::LIVE);
  CHECK(list.workers(0).assignment_ids(0) == response.assignments(0).id());
}

TEST_CASE("Service: a stop answers what is held and refuses what comes later", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  v1::SyncRequest request = worker.Request();
  request.mutable_hold()->set_seconds(60);
  std::promise<grpc::Status> held;
  std::thread caller([&] {
    grpc::ClientContext context;
    v1::SyncResponse response;
    held.set_value(play.workers->Sync(&context, request, &response));
  });
  // Once the worker has registered, its call is held.
  while (play.Workers().empty()) std::this_thread::yield();
  play.server->Stop(std::chrono::seconds(30));
  CHECK(held.get_future().get().error_code() == grpc::StatusCode::UNAVAILABLE);
  caller.join();
}

TEST_CASE("Service: a server ends after what the coordinator still has of calls that were answered",
          "[server]") {
  ServicePlay play;
  StuckCoordinator stuck(play.coordinator());
  grpc::Status created;
  std::thread caller([&] {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = RandomJob(1);
    v1::TuningJob job;
    created = play.Call(&Stub::CreateTuningJob, request, job);
  });
  while (play.coordinator().queue_length() == 0) std::this_thread::yield();  // it waits to be recorded
  absl::Status probed = absl::UnknownError("no answer");
  MakeHealthProbe(play.coordinator(), *play.reader)([&](const absl::Status& status) { probed = status; });
  // In the order of winnow-server. The stop is a use case too.
  const auto destroy = [&] {
    play.server->Stop(std::chrono::seconds(30));
    play.server = nullptr;
    play.reader = nullptr;
  };
  CHECK(stuck.IsAwaitedBy(destroy, 2));
  caller.join();
  CHECK(created.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(probed.ok());
}

}  // namespace
}  // namespace winnow
