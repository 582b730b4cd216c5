// What the follower does while the model of a job is archived.

#include "server/sagemaker/jobs/follower.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "server/sagemaker/jobs/job_service.h"
#include "server/sagemaker/jobs/job_starter.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/s3/object_store.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

constexpr int64_t kPartBytes = 1000;

// Jobs of one trial each, which run until they are ended here. The jobs have the ids "1", "2" …
class OneTrialJobs final : public v1::TuningService::Service {
 public:
  grpc::Status CreateTuningJob(grpc::ServerContext*, const v1::CreateTuningJobRequest*,
                               v1::TuningJob* job) override {
    MutexLock lock(mutex_);
    job->set_id(std::to_string(++jobs_));
    return grpc::Status::OK;
  }
  grpc::Status DescribeTuningJob(grpc::ServerContext*, const v1::DescribeTuningJobRequest* request,
                                 v1::TuningJob* job) override {
    MutexLock lock(mutex_);
    const bool ended = std::stoi(request->id()) <= ended_;
    job->set_id(request->id());
    job->set_state(ended ? v1::TuningJob::COMPLETED : v1::TuningJob::RUNNING);
    job->set_last_sequence(ended ? 2 : 1);
    job->mutable_end_time()->set_seconds(2);
    return grpc::Status::OK;
  }
  grpc::Status ListTrials(grpc::ServerContext*, const v1::ListTrialsRequest* request,
                          v1::ListTrialsResponse* response) override {
    MutexLock lock(mutex_);
    v1::Trial& trial = *response->add_trials();
    trial.set_number(1);
    trial.set_state(std::stoi(request->job_id()) <= ended_ ? v1::Trial::COMPLETED : v1::Trial::RUNNING);
    trial.mutable_start_time()->set_seconds(1);
    trial.mutable_end_time()->set_seconds(2);
    return grpc::Status::OK;
  }
  grpc::Status QueryMetrics(grpc::ServerContext*, const v1::QueryMetricsRequest*,
                            v1::QueryMetricsResponse*) override {
    return grpc::Status::OK;
  }

  // Ends the first `jobs`.
  void End(int jobs) {
    MutexLock lock(mutex_);
    ended_ = jobs;
  }

 private:
  Mutex mutex_;
  int jobs_ ABSL_GUARDED_BY(mutex_) = 0;
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Each job has a model of one blob, of which only the first part is given until GoOn.
class HeldModels final : public v1::ArtifactService::Service {
 public:
  // `parts`: of a model.
  explicit HeldModels(int64_t parts) : parts_(parts) {}

  grpc::Status GetArtifact(grpc::ServerContext*, const v1::GetArtifactRequest*,
                           v1::Artifact* artifact) override {
    v1::ArtifactFile& file = *artifact->mutable_manifest()->add_files();
    file.set_path("model.json");
    file.set_size(parts_ * kPartBytes);
    file.add_blobs()->set_digest("digest");
    return grpc::Status::OK;
  }
  grpc::Status GetBlob(grpc::ServerContext*, const v1::GetBlobRequest*,
                       grpc::ServerWriter<v1::BlobPart>* writer) override {
    v1::BlobPart part;
    part.set_data(std::string(kPartBytes, 'm'));
    writer->Write(part);
    {
      MutexLock lock(mutex_);
      most_readers_ = std::max(most_readers_, ++readers_);
      changed_.NotifyAll();
      while (!goes_on_) changed_.Wait(mutex_);
    }
    for (int64_t i = 1; i < parts_ && writer->Write(part); ++i) {
    }
    MutexLock lock(mutex_);
    --readers_;
    return grpc::Status::OK;
  }

  void AwaitReader() {
    MutexLock lock(mutex_);
    while (readers_ == 0) changed_.Wait(mutex_);
  }
  void GoOn() {
    MutexLock lock(mutex_);
    goes_on_ = true;
    changed_.NotifyAll();
  }
  int most_readers() {
    MutexLock lock(mutex_);
    return most_readers_;
  }

 private:
  const int64_t parts_;
  Mutex mutex_;
  CondVar changed_;
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_readers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool goes_on_ ABSL_GUARDED_BY(mutex_) = false;
};

// The follower in front of them, and a bucket with a table.
struct Followed {
  explicit Followed(int64_t parts) : models(parts) {
    REQUIRE(objects->CreateBucket("1", "bucket").ok());
    ObjectHead head;
    head.key = "data/train.csv";
    auto draft = objects->Write("1,2\n0,1\n");
    REQUIRE(draft.ok());
    REQUIRE(objects->Put("1", "bucket", head, *std::move(draft)).ok());
  }

  void Create(const std::string& name) {
    nlohmann::json request = nlohmann::json::parse(R"({
      "RoleArn": "arn:aws:iam::123456789012:role/winnow",
      "AlgorithmSpecification": {"TrainingInputMode": "File",
        "TrainingImage": "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"},
      "HyperParameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "3"},
      "InputDataConfig": [{"ChannelName": "train", "ContentType": "text/csv", "DataSource":
        {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data/train"}}}],
      "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
      "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
      "StoppingCondition": {"MaxRuntimeInSeconds": 3600}})");
    request["TrainingJobName"] = name;
    const auto created =
        jobs.Call("CreateTrainingJob", request, {"1", "us-east-1", "key", {"ipv4:127.0.0.1:0", ""}});
    INFO(created.status().ToString());
    REQUIRE(created.ok());
  }

  std::string SecondaryOf(const std::string& name) {
    return (*table->Find("1", SagemakerJob::kTraining, name))->secondary;
  }
  void AwaitSecondary(const std::string& name, const std::string& secondary) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (SecondaryOf(name) != secondary && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    REQUIRE(SecondaryOf(name) == secondary);
  }

  TempFolder folder;
  OneTrialJobs winnow;
  HeldModels models;
  std::unique_ptr<grpc::Server> server = [this] {
    grpc::ServerBuilder builder;
    builder.RegisterService(&winnow);
    builder.RegisterService(&models);
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

TEST_CASE("Other jobs are followed while a model is archived, and models are archived one after the other") {
  Followed followed(3);
  followed.Create("one");
  followed.Create("two");
  followed.winnow.End(2);
  followed.models.AwaitReader();
  followed.Create("three");
  followed.AwaitSecondary("three", "Training");
  CHECK(followed.SecondaryOf("one") != "Completed");
  followed.models.GoOn();
  for (const char* name : {"one", "two"}) {
    followed.AwaitSecondary(name, "Completed");
    CHECK(followed.objects->Get("1", "bucket", std::string("output/") + name + "/output/model.tar.gz").ok());
  }
  CHECK(followed.models.most_readers() == 1);
}

TEST_CASE("A stop of the server waits for no archive") {
  Followed followed(INT64_MAX / kPartBytes / 2);
  followed.Create("one");
  followed.winnow.End(1);
  followed.models.AwaitReader();
  followed.follower.AnnounceStop();  // while the model is being read
  followed.models.GoOn();            // and would be for ever
}

}  // namespace
}  // namespace winnow
