#include "spec/checks/files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "spec/job_file.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "winnow-check-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  void Write(const std::string& name) const { std::ofstream(path_ / name) << "a,b\n"; }

 private:
  fs::path path_;
};

std::string Found(const std::string& folder, const std::string& job_file) {
  v1::TuningJobSpec spec = ParseJobFile(job_file).spec;
  spec.set_working_directory(folder);
  return Listed(CheckFiles(spec));
}

TEST_CASE("Files of a job: all there", "[spec]") {
  const Folder folder;
  folder.Write("train.csv");
  folder.Write("validation.csv");
  CHECK(Found(folder.path(), BuiltinJob()) == "");
  CHECK(Found(folder.path(), CommandJob()) == "");
}

TEST_CASE("Files of a job: every one that is missing is named", "[spec]") {
  const Folder folder;
  CHECK(Found(folder.path(), BuiltinJob()) ==
        "channels.train.path: " + folder.path() +
            "/train.csv does not exist; expected a readable file or directory\nchannels.validation.path: " +
            folder.path() + "/validation.csv does not exist; expected a readable file or directory\n");
}

TEST_CASE("Files of a job: what a built-in trainer can make nothing of", "[spec]") {
  const Folder folder;
  folder.Write("train.csv");
  std::ofstream(folder.path() + "/validation.csv").close();
  const std::string at = "channels.validation.path: " + folder.path() + "/validation.csv";
  CHECK(Found(folder.path(), BuiltinJob()) == at + " is empty; expected data\n");
  fs::remove(folder.path() + "/validation.csv");
  fs::create_directory(folder.path() + "/validation.csv");
  std::ofstream(folder.path() + "/validation.csv/.hidden") << "a";
  CHECK(Found(folder.path(), BuiltinJob()) == at + " contains no regular files; expected data files\n");
  for (const char* part : {"1", "2"}) folder.Write(std::string("validation.csv/") + part);
  CHECK(Found(folder.path(), BuiltinJob()) == "");

  v1::TuningJobSpec spec = ParseJobFile(BuiltinJob()).spec;
  spec.set_working_directory(folder.path());
  (*spec.mutable_channels())["validation"].set_distribution("sharded");
  spec.mutable_cluster()->set_nodes(3);
  CHECK(Listed(CheckFiles(spec)) ==
        at + " is 2 files for 3 ranks; expected a directory with at least one file for each, "
             "because distribution is sharded\n");
  spec.mutable_cluster()->set_nodes(2);
  CHECK(Listed(CheckFiles(spec)) == "");
  // The most ranks that a trial may have count.
  spec.mutable_cluster()->clear_nodes();
  spec.mutable_cluster()->set_nodes_parameter("nodes");
  v1::ParameterSpec& nodes = *spec.add_parameters();
  nodes.set_name("nodes");
  nodes.mutable_integer()->set_min(1);
  nodes.mutable_integer()->set_max(3);
  CHECK_THAT(Listed(CheckFiles(spec)), Catch::StartsWith(at + " is 2 files for 3 ranks;"));
  nodes.mutable_integer()->set_max(2);
  CHECK(Listed(CheckFiles(spec)) == "");
}

TEST_CASE("Files of a job: a file of a folder that cannot be read", "[spec]") {
  if (geteuid() == 0) return Skip("root may read everything");
  const Folder folder;
  folder.Write("train.csv");
  fs::create_directory(folder.path() + "/validation.csv");
  folder.Write("validation.csv/1");
  fs::permissions(folder.path() + "/validation.csv/1", fs::perms::none);
  CHECK(Found(folder.path(), BuiltinJob()) ==
        "channels.validation.path: " + folder.path() +
            "/validation.csv/1 cannot be read; expected permission to read every file of the channel\n");
}

TEST_CASE("Files of a job: the working directory", "[spec]") {
  CHECK(Found("", BuiltinJob()) == "working_directory: is \"\"; expected an absolute path\n");
  CHECK(Found("/no/such/folder", BuiltinJob()) ==
        "working_directory: /no/such/folder is not a directory on the server\n");
}

TEST_CASE("Files of a job: where trials are trained elsewhere, a folder that is not here is not missed",
          "[spec]") {
  v1::TuningJobSpec spec = ParseJobFile(BuiltinJob()).spec;
  spec.set_working_directory("/no/such/folder");
  CHECK(Listed(CheckFiles(spec, Training::kElsewhere)) == "");
  // The server itself reads this one.
  spec.mutable_warm_start()->add_csv_files("past.csv");
  CHECK(Listed(CheckFiles(spec, Training::kElsewhere)) ==
        "warm_start.csv_files[0]: /no/such/folder/past.csv does not exist; expected a table that can be "
        "read\n");
}

TEST_CASE("Files of a job: where trials are trained elsewhere, programs and data are the workers' own",
          "[spec]") {
  const Folder folder;  // is here, and has neither
  v1::TuningJobSpec spec = ParseJobFile(CommandJob("\"python3\"", "\"/opt/venvs/x/bin/python\"")).spec;
  (*spec.mutable_channels())["train"].set_path("/mnt/nfs/train.csv");
  spec.set_working_directory(folder.path());
  CHECK(Listed(CheckFiles(spec, Training::kElsewhere)) == "");
  CHECK(CheckFiles(spec, Training::kHere).size() == 2);
}

TEST_CASE(
    "Files of a job: an external job needs no working directory, unless its warm start is seen from there",
    "[spec]") {
  v1::TuningJobSpec spec = ParseJobFile(ExternalJob("\"seed\": 1")).spec;
  spec.clear_working_directory();
  CHECK(Listed(CheckFiles(spec)) == "");
  spec.mutable_warm_start()->add_csv_files("/no/such/table.csv");
  CHECK(Listed(CheckFiles(spec)) ==
        "warm_start.csv_files[0]: /no/such/table.csv does not exist; expected a table that can be read\n");
  spec.mutable_warm_start()->add_csv_files("old.csv");
  CHECK(Listed(CheckFiles(spec)) == "working_directory: is \"\"; expected an absolute path\n");
}

TEST_CASE("Files of a job: what may not be told is passed over, and nothing is said of it by what is there",
          "[spec]") {
  const Folder folder;
  v1::TuningJobSpec spec = ParseJobFile(BuiltinJob()).spec;
  spec.set_working_directory(folder.path());
  spec.mutable_warm_start()->add_csv_files("none.csv");
  const auto nothing = [](const std::string&) { return false; };
  CHECK(Listed(CheckFiles(spec, Training::kHere, nothing)) == "");
  // The folder of a channel may be revealed, a link in it may not: it is unknown whether that leads to a
  // file.
  folder.Write("train.csv");
  fs::create_directory(folder.path() + "/validation.csv");
  for (const char* target : {"/etc/passwd", "/no/such/file"}) {
    fs::remove(folder.path() + "/validation.csv/link");
    fs::create_symlink(target, folder.path() + "/validation.csv/link");
    const auto no_links = [](const std::string& path) { return !path.ends_with("/link"); };
    CHECK(Listed(CheckFiles(spec, Training::kHere, no_links)) == Listed({}));
  }
}

TEST_CASE("Files of a job: a program with a path must be executable", "[spec]") {
  const Folder folder;
  const std::string job = CommandJob("\"python3\"", "\"./train.sh\"");
  CHECK(Found(folder.path(), job) ==
        "trainer.command[0]: " + folder.path() + "/train.sh is not a file; expected a program\n");
  folder.Write("train.sh");
  CHECK(Found(folder.path(), job).find("is not executable; expected a program (chmod +x)") !=
        std::string::npos);
  fs::permissions(folder.path() + "/train.sh", fs::perms::owner_exec, fs::perm_options::add);
  CHECK(Found(folder.path(), job) == "");
}

TEST_CASE("Files of a job: the tables and studies of a warm start", "[spec]") {
  const Folder folder;
  const std::string job =
      ExternalJob(R"("warm_start": {"csv_files": ["old.csv"], "optuna_studies": [{"file": "old.db"}]})");
  CHECK(Found(folder.path(), job) ==
        "warm_start.csv_files[0]: " + folder.path() +
            "/old.csv does not exist; expected a table that can be read\n" +
            "warm_start.optuna_studies[0].file: " + folder.path() +
            "/old.db does not exist; expected an SQLite file that can be read\n");
  folder.Write("old.csv");
  folder.Write("old.db");
  CHECK(Found(folder.path(), job) == "");
}

}  // namespace
}  // namespace winnow
