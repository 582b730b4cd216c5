#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/grpc/token_play.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// Secrets of one submitter, ana, and of the site, where others must not see them: each "canary" and a word.
template <typename Base>
class Canaries : public Base {
 public:
  Canaries() {
    namespace fs = std::filesystem;
    for (const char* name : {"allowed", "site"}) fs::create_directory(this->folder.file(name));
    std::ofstream(site_file()) << "canaryfile,canarycolumn\ncanaryrow,1\n";
    std::ofstream(this->folder.file("site/tokens")) << "canarytoken\n";
    std::ofstream(this->folder.file("site/wandb")) << "canarysecret\n";
    fs::copy_file(site_file(), this->folder.file("allowed/wrong.csv"));
    fs::create_symlink(site_file(), this->folder.file("allowed/link.csv"));
    ana = this->MakeToken(v1::SUBMITTER, 0, "ana");
    ben = this->MakeToken(v1::SUBMITTER, 0, "ben");
    viewer = this->MakeToken(v1::VIEWER, 0, "eve");
    v1::CreateTuningJobRequest create;
    *create.mutable_spec() = Spec();
    (*create.mutable_spec()->mutable_trainer()->mutable_environment())["API_KEY"] = "canaryenvironment";
    (*create.mutable_spec()->mutable_trainer()->mutable_secrets())["WANDB_API_KEY"] = "wandb";
    const auto client = v1::TuningService::NewStub(*Connect(this->OverTcp(ana.secret())));
    v1::TuningJob job;
    for (const bool ends : {true, false}) {  // the ended one first: it is "job"
      grpc::ClientContext submitting;
      REQUIRE(client->CreateTuningJob(&submitting, create, &job).ok());
      if (!ends) continue;
      v1::StopTuningJobRequest stop;
      stop.set_id(job.id());
      grpc::ClientContext stopping;
      REQUIRE(client->StopTuningJob(&stopping, stop, &job).ok());
      CHECK_THAT(job.state_reason(), Catch::Contains("stopped by ana"));
    }
  }

  std::string site_file() const { return this->folder.file("site/data.csv"); }
  v1::TuningJobSpec Spec() const {
    v1::TuningJobSpec spec = RandomJob(2, 4);
    spec.set_working_directory(this->folder.file("allowed"));
    return spec;
  }

  // One request for each thing that could be requested: ana's jobs, and files that must not be read.
  template <typename Visit>
  void Requests(const google::protobuf::MethodDescriptor& method, const Visit& visit) const {
    namespace pb = google::protobuf;
    const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(method.input_type());
    const pb::FieldDescriptor* spec = method.input_type()->FindFieldByName("spec");
    if (spec == nullptr) {
      std::unique_ptr<pb::Message> request(prototype->New());
      Fill(*request);
      visit(*request);
      return;
    }
    for (const std::string& path :
         {site_file(), this->folder.file("site/tokens"), this->folder.file("site/wandb"), this->file(),
          std::string("wrong.csv"), std::string("link.csv"), std::string("/proc/self/environ"),
          std::string("../site/data.csv")}) {
      for (const bool table : {true, false}) {
        std::unique_ptr<pb::Message> request(prototype->New());
        v1::TuningJobSpec mine = Spec();
        mine.set_name("bens");
        if (table) mine.mutable_warm_start()->add_csv_files(path);
        if (!table) mine.mutable_warm_start()->add_optuna_studies()->set_file(path);
        (*mine.mutable_channels())["train"].set_path(path);
        request->GetReflection()->MutableMessage(request.get(), spec)->CopyFrom(mine);
        visit(*request);
      }
    }
  }

  v1::CreateTokenResponse ana, ben, viewer;

 private:
  // Sets every field that may name a job, or a trial of it.
  static void Fill(google::protobuf::Message& message) {
    namespace pb = google::protobuf;
    const pb::Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const pb::FieldDescriptor* field = message.GetDescriptor()->field(i);
      const bool text = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
      if (text && (field->name() == "id" || field->name() == "job_id"))
        reflection.SetString(&message, field, "job");
      if (text && field->is_repeated() && (field->name() == "job_ids" || field->name() == "jobs")) {
        reflection.AddString(&message, field, "job");
      }
      if (field->name() == "trial" && field->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64) {
        reflection.SetInt64(&message, field, 1);
      }
      if (field->name() == "kind" && field->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM) {
        reflection.SetEnumValue(&message, field, 1);
      }
    }
  }
};

}  // namespace winnow
