#include "server/grpc/backup.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "server/host/check.h"
#include "tests/server/grpc/service_play.h"
#include "winnow/v1/admin.grpc.pb.h"

namespace winnow {
namespace {

struct Copy {
  grpc::Status status;
  int64_t total = -1;
  size_t largest_part = 0;
  int64_t bytes = 0;
};

Copy Download(ServicePlay& play, const std::string& to) {
  auto admin = v1::AdminService::NewStub(play.channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  auto parts = admin->Backup(&context, v1::BackupRequest());
  Copy copy;
  std::ofstream out(to, std::ios::binary);
  v1::BackupPart part;
  while (parts->Read(&part)) {
    if (copy.total < 0) copy.total = part.total_bytes();
    copy.largest_part = std::max(copy.largest_part, part.data().size());
    copy.bytes += static_cast<int64_t>(part.data().size());
    out << part.data();
  }
  copy.status = parts->Finish();
  return copy;
}

TEST_CASE("Backup: copies taken while reports stream in are sound, and a server goes on from each",
          "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(8, 400));
  std::atomic<bool> stop = false;
  std::atomic<bool> failed = false;
  std::thread training([&] {
    while (!stop) failed = failed || !worker.Step().ok();
  });
  int64_t facts = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string file = play.folder.file("copy.db");
    const Copy copy = Download(play, file);
    INFO(copy.status.error_message());
    REQUIRE(copy.status.ok());
    CHECK(copy.total == copy.bytes);
    CHECK(copy.largest_part <= 1 << 20);
    std::vector<std::string> findings;
    auto checked = CheckDatabase(file, "", [&](const std::string& text) { findings.push_back(text); });
    REQUIRE(checked.ok());
    CHECK(findings == std::vector<std::string>());
    CHECK(checked->facts >= facts);
    facts = checked->facts;
    auto store = Store::Open(file);
    REQUIRE(store.ok());
    Hub hub;
    auto coordinator = Coordinator::Start(*std::move(store), hub, {});
    CHECK(coordinator.ok());
  }
  stop = true;
  training.join();
  CHECK_FALSE(failed);
  CHECK(facts > 0);
  CHECK_FALSE(std::filesystem::exists(play.file() + ".copy"));
}

TEST_CASE("Backup: a large database comes in parts of a MiB", "[server]") {
  ServicePlay play;
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(engine.context()
                          .store.database()
                          .Execute("CREATE TABLE filler (a); INSERT INTO filler VALUES (randomblob(5000000))")
                          .ok());
              })
              .ok());
  const Copy copy = Download(play, play.folder.file("copy.db"));
  REQUIRE(copy.status.ok());
  CHECK(copy.total > 5'000'000);
  CHECK(copy.total == copy.bytes);
  CHECK(copy.largest_part == 1 << 20);
}

TEST_CASE("Backup: a caller that still waits when the server stops learns that it stops", "[server]") {
  Play play;
  std::promise<absl::Status> first, second;
  std::promise<void> go;
  {
    Backups backups(play.file(), play.folder.file("endpoint"));
    // The first is in progress until the destructor stops it; the second is queued.
    auto started = go.get_future();
    auto busy = std::make_shared<bool>(false);
    backups.Take({[&, busy] {
                    if (!*busy) go.set_value();
                    *busy = true;
                    return false;
                  },
                  [&](auto copy) { first.set_value(copy.status()); }});
    backups.Take({[] { return true; }, [&](auto copy) { second.set_value(copy.status()); }});
    started.wait();
  }
  const absl::Status one = first.get_future().get();
  CHECK((one.ok() || one.code() == absl::StatusCode::kUnavailable));
  CHECK_FALSE(second.get_future().get().ok());
}

}  // namespace
}  // namespace winnow
