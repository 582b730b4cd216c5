// Setups that nobody waits for any more: real programs, in a source that is there.

#include "worker/sources/source_keeper.h"

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "artifact/digest.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/run_until.h"

namespace winnow {
namespace {

class Sources {
 public:
  Sources() {
    std::filesystem::create_directories(folder_ / "work/sources" / digest_);
    std::ofstream(folder_ / "work/sources" / (digest_ + ".done")) << 0;
  }

  // The setup does not end when it runs for the first time.
  void Prepare(const std::string& id, std::optional<absl::Status>* result) {
    v1::Assignment assignment;
    assignment.set_id(id);
    assignment.mutable_source()->set_digest(digest_);
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"),
                                    fmt::format("echo >> {0}; [ $(wc -l < {0}) -gt 1 ] || exec sleep 1000",
                                                (folder_ / "runs").string())})
      assignment.mutable_source()->add_setup(word);
    keeper_.Prepare(
        assignment, {"PATH=/usr/bin:/bin"}, [](const std::string&) {},
        [result](const absl::StatusOr<std::shared_ptr<SourceLease>>& lease) { *result = lease.status(); });
  }
  void Abandon(const std::string& id) { keeper_.Abandon(id); }
  bool AwaitRuns(size_t count) {
    return Await([&] { return ReadAll(folder_ / "runs").size() == count; });
  }
  bool Await(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }

 private:
  const std::string digest_ = DigestOf("source");
  TempFolder folder_;
  EventLoop loop_;
  SourceKeeper keeper_{&loop_, grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()),
                       folder_ / "work", nullptr};
};

TEST_CASE("Sources: who comes while a setup is killed that nobody waited for gets one of its own",
          "[worker]") {
  Sources sources;
  std::optional<absl::Status> first, second;
  sources.Prepare("first", &first);
  REQUIRE(sources.AwaitRuns(1));
  sources.Abandon("first");
  SECTION("it comes at once") {}
  SECTION("another came and went") {
    sources.Prepare("between", &first);
    sources.Abandon("between");
  }
  sources.Prepare("second", &second);
  REQUIRE(sources.Await([&] { return second.has_value(); }));
  CHECK(second->ToString() == "OK");
  CHECK_FALSE(first.has_value());
  CHECK(sources.AwaitRuns(2));
}

}  // namespace
}  // namespace winnow
