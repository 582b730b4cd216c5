// What becomes of a Create that Winnow does not answer.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/sagemaker/jobs/follower.h"
#include "server/sagemaker/jobs/job_service.h"
#include "server/sagemaker/jobs/job_starter.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/s3/object_store.h"
#include "server/sagemaker/wire/aws_error.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

// Creates jobs, or gives the answers that it is to give first.
class FakeWinnow final : public v1::TuningService::Service {
 public:
  grpc::Status CreateTuningJob(grpc::ServerContext*, const v1::CreateTuningJobRequest* request,
                               v1::TuningJob* job) override {
    MutexLock lock(mutex_);
    request_ids_.push_back(request->request_id());
    job->set_id("job-of-" + request->request_id());
    if (answers_.empty()) return grpc::Status::OK;
    const grpc::Status answer = answers_.front();
    answers_.pop_front();
    return answer;
  }

  void AnswerFirst(std::deque<grpc::Status> answers) {
    MutexLock lock(mutex_);
    answers_ = std::move(answers);
  }
  std::vector<std::string> request_ids() {
    MutexLock lock(mutex_);
    return request_ids_;
  }

 private:
  Mutex mutex_;
  std::deque<grpc::Status> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> request_ids_ ABSL_GUARDED_BY(mutex_);
};

// The endpoint's jobs in front of it, and a bucket with a table.
struct Endpoint {
  Endpoint() {
    REQUIRE(objects->CreateBucket("1", "bucket").ok());
    ObjectHead head;
    head.key = "data/train.csv";
    auto draft = objects->Write("1,2\n0,1\n");
    REQUIRE(draft.ok());
    REQUIRE(objects->Put("1", "bucket", head, *std::move(draft)).ok());
  }

  static json Request() {
    return json::parse(R"({
      "TrainingJobName": "job", "RoleArn": "arn:aws:iam::123456789012:role/winnow",
      "AlgorithmSpecification": {"TrainingInputMode": "File",
        "TrainingImage": "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"},
      "HyperParameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "3"},
      "InputDataConfig": [{"ChannelName": "train", "ContentType": "text/csv", "DataSource":
        {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data/train"}}}],
      "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
      "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
      "StoppingCondition": {"MaxRuntimeInSeconds": 3600}})");
  }
  absl::Status Create(const json& request = Request()) {
    return jobs.Call("CreateTrainingJob", request, {"1", "us-east-1", "key", {"ipv4:127.0.0.1:0", ""}})
        .status();
  }

  std::optional<SagemakerJob> Row() { return *table->Find("1", SagemakerJob::kTraining, "job"); }
  // The row, once the follower has found out what became of its creation.
  SagemakerJob AwaitRow() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::optional<SagemakerJob> row = Row();
    while (row && row->winnow_job.empty() && !row->ended() && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      row = Row();
    }
    REQUIRE(row);
    return *row;
  }

  TempFolder folder;
  FakeWinnow winnow;
  std::unique_ptr<grpc::Server> server = [this] {
    grpc::ServerBuilder builder;
    builder.RegisterService(&winnow);
    return builder.BuildAndStart();
  }();
  std::unique_ptr<SagemakerJobs> table = *SagemakerJobs::Open(folder / "jobs.db");
  std::unique_ptr<ObjectStore> objects = *ObjectStore::Open(folder / "objects");
  WinnowCalls calls{server->InProcessChannel({}), "relay"};
  JobStarter starter{*table, *objects, calls, {}, [] { return std::string("http://127.0.0.1:1"); }};
  Follower follower{*table, *objects, calls, starter, [](const SagemakerJob&) {
                      return CallerOf{"ipv4:127.0.0.1:0", ""};
                    }};
  JobService jobs{*table, calls, starter, follower};
};

TEST_CASE("A Create whose outcome is not known is asked for again as the same one") {
  for (const auto code : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    Endpoint endpoint;
    endpoint.winnow.AnswerFirst({{code, "no answer"}, {code, "no answer"}});
    const absl::Status created = endpoint.Create();
    INFO(created.ToString());
    CHECK(created.ok());
    CHECK(AwsCodeOf(endpoint.Create()) == "ResourceInUse");
    const SagemakerJob row = endpoint.AwaitRow();
    const std::vector<std::string> ids = endpoint.winnow.request_ids();
    REQUIRE(ids.size() == 3);
    CHECK((ids[1] == ids[0] && ids[2] == ids[0]));
    CHECK(row.winnow_job == "job-of-" + ids[0]);
  }
}

TEST_CASE("A Create that is refused gives its name back, and one that is refused later has failed") {
  Endpoint endpoint;
  endpoint.winnow.AnswerFirst({{grpc::StatusCode::INVALID_ARGUMENT, "wrong"}});
  CHECK(AwsCodeOf(endpoint.Create()) == "ValidationException");
  CHECK_FALSE(endpoint.Row());
  endpoint.winnow.AnswerFirst({{grpc::StatusCode::RESOURCE_EXHAUSTED, "full"}});
  CHECK(AwsCodeOf(endpoint.Create()) == "ThrottlingException");
  CHECK_FALSE(endpoint.Row());
  endpoint.winnow.AnswerFirst(
      {{grpc::StatusCode::UNAVAILABLE, "no answer"}, {grpc::StatusCode::INVALID_ARGUMENT, "wrong"}});
  CHECK(endpoint.Create().ok());
  const SagemakerJob row = endpoint.AwaitRow();
  CHECK(row.status == "Failed");
  CHECK(json::parse(row.result)["reason"] == "wrong");
}

TEST_CASE("A metric of a script whose Regex can take no value is refused") {
  Endpoint endpoint;
  const auto refusal = [&](const std::string& regex) {
    json request = Endpoint::Request();
    json& algorithm = request["AlgorithmSpecification"];
    algorithm["TrainingImage"] =
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0-cpu-py310";
    algorithm["MetricDefinitions"] = json::array({{{"Name", "loss"}, {"Regex", regex}}});
    request["HyperParameters"] = {{"sagemaker_program", "train.py"},
                                  {"sagemaker_submit_directory", "s3://bucket/none.tar.gz"}};
    const absl::Status status = endpoint.Create(request);
    CHECK(AwsCodeOf(status) == "ValidationException");
    return std::string(status.message());
  };
  for (const char* regex : {"loss=([0-9.]+", "loss=[0-9.]+", "loss=([0-9.+)", "loss=([0-9.]+))", "*(.)"}) {
    INFO(regex);
    CHECK(refusal(regex).find("The Regex of the metric loss is \"" + std::string(regex)) !=
          std::string::npos);
  }
  // What only Python takes; the archive is what is wrong.
  for (const char* regex : {"loss=([0-9.]+)", "(?<=loss=)([0-9.]+)(?!x)", "(['\"])(.)\\1", "[[:(](.)"}) {
    INFO(regex);
    CHECK(refusal(regex).find("none.tar.gz") != std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
