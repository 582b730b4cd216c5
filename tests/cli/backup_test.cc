#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/process.h"
#include "tests/store/temp_folder.h"
#include "winnow/v1/admin.grpc.pb.h"

namespace winnow {
namespace {

using nlohmann::json;

// An AdminService that sends `data` in small parts, says that it has `total` bytes, and ends with `status`.
class FakeAdmin : public v1::AdminService::Service {
 public:
  FakeAdmin() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::string data = std::string(1000, 'a') + "the end";
  int64_t total = 1007;
  grpc::Status status;

 private:
  grpc::Status Backup(grpc::ServerContext*, const v1::BackupRequest*,
                      grpc::ServerWriter<v1::BackupPart>* writer) override {
    for (size_t at = 0; at < data.size(); at += 100) {
      v1::BackupPart part;
      if (at == 0) part.set_total_bytes(total);
      part.set_data(data.substr(at, 100));
      writer->Write(part);
    }
    return status;
  }
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::string Contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t FilesIn(const TempFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

TEST_CASE("backup: the copy is saved whole, readable by its owner alone", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const std::string file = folder.file("copy.db");
  const Result result = RunWinnow({"backup", file}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out == file + ": 1,007 bytes. Verify it with: winnow-server --check --db " + file + "\n");
  CHECK(Contents(file) == service.data);
  struct stat status;
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("backup: it writes into no file that somebody else has prepared", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const std::string file = folder.file("copy.db"), other = folder.file("other");
  std::filesystem::create_symlink(other, file + ".part");
  CHECK(RunWinnow({"backup", file}, service.address()).code == 0);
  CHECK(Contents(file) == service.data);
  CHECK_FALSE(std::filesystem::is_symlink(file));
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("backup: JSON names the file and its size", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const Result result = RunWinnow({"backup", folder.file("c.db"), "--output", "json"}, service.address());
  CHECK(json::parse(result.out) == json{{"file", folder.file("c.db")}, {"bytes", 1007}});
}

TEST_CASE("backup: a file that is there is replaced only when it is asked for", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const std::string file = folder.file("copy.db");
  std::ofstream(file) << "older";
  const Result refused = RunWinnow({"backup", file}, service.address());
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::Contains("already exists") && Catch::Contains("--force"));
  CHECK(Contents(file) == "older");
  CHECK(RunWinnow({"backup", file, "--force"}, service.address()).code == 0);
  CHECK(Contents(file) == service.data);
}

TEST_CASE("backup: what breaks off leaves what was there before", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const std::string file = folder.file("copy.db");
  std::ofstream(file) << "older";
  SECTION("the server has no room for it") {
    service.status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "w.db.copy: the disk is full");
    const Result result = RunWinnow({"backup", file, "--force"}, service.address());
    CHECK(result.code == 1);
    CHECK_THAT(result.err, Catch::Contains("the disk is full"));
  }
  SECTION("fewer bytes came than were said") {
    service.total = 2000;
    const Result result = RunWinnow({"backup", file, "--force"}, service.address());
    CHECK(result.code == 1);
    CHECK_THAT(result.err, Catch::Contains("ended after 1007 of 2000 bytes"));
  }
  CHECK(Contents(file) == "older");
  CHECK(FilesIn(folder) == 1);
}

TEST_CASE("backup: a place that cannot be written is said at once", "[cli]") {
  FakeAdmin service;
  TempFolder folder;
  const Result missing = RunWinnow({"backup", folder.file("no/copy.db")}, service.address());
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Catch::Contains("cannot write") && Catch::Contains("No such file or directory"));
  const Result itself = RunWinnow({"backup", folder.path().string()}, service.address());
  CHECK(itself.code == 2);
  CHECK_THAT(itself.err, Catch::Contains("is a directory"));
}

}  // namespace
}  // namespace winnow
