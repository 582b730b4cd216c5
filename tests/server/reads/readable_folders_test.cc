// Files that the server reads because a job names them: only where the site allows, without revealing others.

#include "server/reads/readable_folders.h"

#include <sys/stat.h>

#include <fstream>

#include "store/database/database.h"
#include "tests/server/grpc/token_play.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A server with tokens that reads the files of one folder.
struct FilesPlay : TokenPlay {
  FilesPlay() {
    for (const char* name : {"allowed", "other"}) fs::create_directory(folder.file(name));
    std::ofstream(folder.file("other/secret.csv")) << "canary-1,canary-2\n";
    std::ofstream(folder.file("allowed/old.csv")) << "x,objective\n0.5,1\n";
    fs::create_symlink(folder.file("other/secret.csv"), folder.file("allowed/out.csv"));
    fs::create_symlink(folder.file("other/none.csv"), folder.file("allowed/nowhere.csv"));
    options.files = *ReadableFolders::Only({folder.file("allowed")});
    options.files.Keep(file());
    StartServer();
    client = v1::TuningService::NewStub(*Connect(OverTcp(MakeToken(v1::SUBMITTER).secret())));
  }
  v1::TuningJobSpec Spec() const {
    v1::TuningJobSpec spec = RandomJob(2, 4);
    spec.set_working_directory(folder.file("allowed"));
    return spec;
  }
  grpc::Status Submit(const v1::TuningJobSpec& spec) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = spec;
    return client->CreateTuningJob(&context, request, &job);
  }
  grpc::Status Table(const std::string& path) {
    v1::TuningJobSpec spec = Spec();
    spec.mutable_warm_start()->add_csv_files(path);
    return Submit(spec);
  }
  grpc::Status Study(const std::string& path) {
    v1::TuningJobSpec spec = Spec();
    spec.mutable_warm_start()->add_optuna_studies()->set_file(path);
    return Submit(spec);
  }
  // Returns the error for a path, without the path.
  std::string Said(const grpc::Status& status, const std::string& path) const {
    CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    std::string text = status.error_message();
    const std::string full = (fs::path(folder.file("allowed")) / path).lexically_normal();
    const size_t at = text.find(full);
    REQUIRE(at != std::string::npos);
    return text.erase(at, full.size());
  }
  std::unique_ptr<v1::TuningService::Stub> client;
  v1::TuningJob job;
};

TEST_CASE("Files of jobs: outside of the folders that the site names one answer is given, whatever is there",
          "[server]") {
  FilesPlay play;
  CHECK(play.Table("old.csv").ok());
  CHECK(play.job.warm_start_text() == "1 result used: 1 from old.csv.");
  const std::string outside = play.Said(play.Table("/no/such/file"), "/no/such/file");
  CHECK_THAT(outside, Catch::Contains("--read-dir"));
  const std::string other = play.folder.file("other/secret.csv");
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("/root/none"), std::string("../other/secret.csv"),
        std::string("../other/none.csv"), std::string("/dev/zero"), std::string("/"), other,
        std::string("out.csv"), std::string("nowhere.csv")}) {
    INFO(path);
    CHECK(play.Said(play.Table(path), path) == outside);
  }
  const std::string study = play.Said(play.Study("/no/such/file"), "/no/such/file");
  for (const std::string& path : {std::string("/etc/passwd"), other, std::string("out.csv"), play.file()}) {
    CHECK(play.Said(play.Study(path), path) == study);
  }
}

TEST_CASE("Files of jobs: inside, what is wrong is said without a word of what is in the file", "[server]") {
  FilesPlay play;
  fs::copy_file(play.folder.file("other/secret.csv"), play.folder.file("allowed/wrong.csv"));
  REQUIRE(mkfifo(play.folder.file("allowed/fifo").c_str(), 0600) == 0);
  CHECK_THAT(play.Said(play.Table("none.csv"), "none.csv"), Catch::Contains("does not exist"));
  for (const grpc::Status& status : {play.Table("fifo"), play.Study("fifo")}) {
    CHECK_THAT(status.error_message(), Catch::Contains("is not a regular file"));
  }
  const grpc::Status wrong = play.Table("wrong.csv");
  CHECK_THAT(wrong.error_message(), Catch::Contains("has 2 columns, none of which is named objective"));
  CHECK_THAT(wrong.error_message() + wrong.error_details(), !Catch::Contains("canary"));
  CHECK_THAT(play.Study("wrong.csv").error_message(), Catch::Contains("is not a SQLite file"));
}

TEST_CASE("Files of jobs: channels and programs are looked for only where the site allows", "[server]") {
  FilesPlay play;
  v1::TuningJobSpec spec = play.Spec();
  (*spec.mutable_channels())["train"].set_path("none");
  CHECK_THAT(play.Submit(spec).error_message(), Catch::Contains("does not exist"));
  for (const char* path : {"/etc/shadow", "/no/such/data", "out.csv", "nowhere.csv"}) {
    INFO(path);
    (*spec.mutable_channels())["train"].set_path(path);
    CHECK(play.Submit(spec).ok());
  }
  spec.mutable_trainer()->set_command(0, "/no/such/program");
  CHECK(play.Submit(spec).ok());
  spec.set_working_directory("/no/such/folder");
  CHECK(play.Submit(spec).ok());
}

TEST_CASE("Files of jobs: the server's own database is not opened as something else", "[server]") {
  FilesPlay play;
  play.options.files = *ReadableFolders::Only({play.folder.path().string()});
  play.options.files.Keep(play.file());
  play.StartServer();
  play.client = v1::TuningService::NewStub(*Connect(play.OverTcp(play.MakeToken(v1::SUBMITTER).secret())));
  for (const char* part : {"", "-wal", "-shm"}) {
    const grpc::Status status = play.Table(play.file() + part);
    INFO(part << ": " << status.error_message());
    CHECK_THAT(status.error_message(), Catch::Contains("used by this server itself"));
  }
  play.server = nullptr;
}

TEST_CASE("Files of jobs: without tokens they are read wherever they are", "[server]") {
  TempFolder folder;
  std::ofstream(folder.file("a.csv")) << "a";
  const ReadableFolders files = ReadableFolders::Everything();
  CHECK(files.Open(folder.file("a.csv")).ok());
  CHECK(files.MayTell("/no/such/file"));
}

}  // namespace
}  // namespace winnow
