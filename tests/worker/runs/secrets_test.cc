#include "worker/runs/secrets.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/worker/trainer_play.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

struct Secrets {
  Secrets() {
    for (const char* name : {"secrets/ana", "secrets/everyone", "outside"})
      fs::create_directories(folder / name);
  }
  void Write(const std::string& name, const std::string& value) const {
    std::ofstream(folder / name) << value;
  }
  absl::StatusOr<std::map<std::string, std::string>> Read(const std::string& owner,
                                                          const std::string& name) const {
    v1::Assignment assignment;
    assignment.set_owner(owner);
    (*assignment.mutable_secrets())["KEY"] = name;
    return ReadSecrets(folder / "secrets", "w1", assignment);
  }
  std::string Problem(const std::string& owner, const std::string& name) const {
    const auto read = Read(owner, name);
    CHECK(read.status().code() == absl::StatusCode::kFailedPrecondition);
    return std::string(read.status().message());
  }
  TempFolder folder;
};

TEST_CASE("Secrets: the owner's come before everyone's, and nobody has another's", "[worker]") {
  Secrets secrets;
  secrets.Write("secrets/ana/key", "of ana\n");
  secrets.Write("secrets/everyone/key", "of everyone\r\n");
  secrets.Write("secrets/everyone/other", "shared");
  CHECK(secrets.Read("ana", "key")->at("KEY") == "of ana");
  CHECK(secrets.Read("ana", "other")->at("KEY") == "shared");
  CHECK(secrets.Read("ben", "key")->at("KEY") == "of everyone");
  CHECK(secrets.Read("", "key")->at("KEY") == "of everyone");
  fs::remove(secrets.folder / "secrets/everyone/key");
  CHECK(secrets.Problem("ben", "key") ==
        "worker w1 has no secret \"key\"; expected the file ben/key or everyone/key in its --secrets-dir");
  CHECK_THAT(secrets.Problem("../ana", "key"), !Catch::Contains("of ana"));
  CHECK_THAT(secrets.Problem("ben", "../ana/key"), Catch::Contains("not the name"));
}

TEST_CASE("Secrets: links stay within the folder, and only regular files of some length are secrets",
          "[worker]") {
  Secrets secrets;
  secrets.Write("outside/key", "of the site");
  secrets.Write("secrets/everyone/real", "inside it");
  secrets.Write("secrets/ana/short", "abc\n");
  secrets.Write("secrets/ana/long", std::string(65'537, 'x'));
  secrets.Write("secrets/ana/nul", std::string("abc\0def", 7));
  fs::create_symlink("../everyone/real", secrets.folder / "secrets/ana/inside");
  fs::create_symlink("../../outside/key", secrets.folder / "secrets/ana/out");
  fs::create_symlink(secrets.folder / "outside/key", secrets.folder / "secrets/ana/absolute");
  REQUIRE(mkfifo((secrets.folder / "secrets/ana/fifo").c_str(), 0600) == 0);
  CHECK(secrets.Read("ana", "inside")->at("KEY") == "inside it");
  for (const char* name : {"out", "absolute"})
    CHECK_THAT(secrets.Problem("ana", name), Catch::Contains("leaves the directory"));
  CHECK_THAT(secrets.Problem("ana", "fifo"), Catch::Contains("not a regular file"));
  CHECK_THAT(secrets.Problem("ana", "short"), Catch::Contains("has 3 bytes") && !Catch::Contains("abc"));
  CHECK_THAT(secrets.Problem("ana", "long"), Catch::Contains("more than 65536 bytes"));
  CHECK_THAT(secrets.Problem("ana", "nul"), Catch::Contains("NUL") && !Catch::Contains("abc"));
}

// Runs a shell command that was given the secret "hunter22" as KEY.
TrainerPlay RunWithSecret(const TempFolder& folder, const std::string& command,
                          const std::string& secret = "key") {
  fs::create_directories(folder / "secrets/everyone");
  std::ofstream(folder / "secrets/everyone/key") << "hunter22\n";
  v1::Assignment assignment;
  assignment.set_id("a1");
  assignment.set_job_id("job");
  assignment.set_trial(1);
  assignment.set_attempt(1);
  assignment.set_world_size(1);
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), command})
    assignment.add_command(word);
  v1::MetricDefinition& metric = *assignment.add_metrics();
  metric.set_name("loss");
  metric.set_regex("loss=([0-9.]+)");
  assignment.set_objective_metric("loss");
  assignment.set_working_directory(folder.path().string());
  (*assignment.mutable_secrets())["KEY"] = secret;
  EventLoop loop;
  return RunTrainer(&loop, folder, assignment, nullptr, folder / "secrets");
}

TEST_CASE("Secrets: a trainer has the value, and nothing that is kept or sent of it has", "[worker]") {
  TempFolder folder;
  const TrainerPlay play = RunWithSecret(
      folder,
      "test \"$KEY\" = hunter22 && echo loss=1; printf 'out hun'; printf 'ter22 '; echo $KEY; echo $KEY >&2; "
      "printf \"error: $KEY\" >&2; exit 3");
  REQUIRE(play.start.ok());
  CHECK(play.reports.size() == 1);
  CHECK(play.out == "loss=1\nout (secret) (secret)\n");
  CHECK(play.outcome.kind() == v1::Outcome::FAILED);
  CHECK_THAT(play.outcome.reason(), Catch::Contains("error: (secret)") && !Catch::Contains("hunter22"));
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "work")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::ifstream in(entry.path());
    CHECK_THAT(std::string(std::istreambuf_iterator<char>(in), {}), !Catch::Contains("hunter22"));
  }
  CHECK(files >= 2);
}

TEST_CASE("Secrets: one that is missing is the attempt's failure, and says which", "[worker]") {
  TempFolder folder;
  const TrainerPlay play = RunWithSecret(folder, "true", "wandb");
  CHECK(play.start.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(play.start.message()), Catch::Contains("\"wandb\""));
}

}  // namespace
}  // namespace winnow
