// The program winnow-worker as a whole.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/program.h"
#include "worker/host/capacity.h"
#include "worker/work_folder_lock.h"

namespace winnow {
namespace {

constexpr char kWorker[] = WINNOW_BIN_DIR "/winnow-worker";

ProcessSpec WorkerSpec(const std::vector<std::string>& flags) {
  ProcessSpec spec{{kWorker}, {"PATH=/usr/bin:/bin", "HOME=/proc/nobody"}, "/tmp", ""};
  spec.command.insert(spec.command.end(), flags.begin(), flags.end());
  return spec;
}

std::vector<std::string> Flags(const FakeServer& server, const TempFolder& folder) {
  return {"--server",     server.address(),
          "--name",       "w",
          "--slots",      "2",
          "--work-dir",   (folder / "work").string(),
          "--shared-dir", (folder / "shared").string()};
}

// A winnow-worker that runs until the test signals it.
class WorkerProcess {
 public:
  explicit WorkerProcess(const std::vector<std::string>& flags) {
    auto process = Process::Start(&loop_, WorkerSpec(flags),
                                  {[this](Process::Stream, std::string_view bytes) { log_ += bytes; },
                                   [this](const ProcessEnd& end) {
                                     end_ = end;
                                     loop_.Quit();
                                   }});
    REQUIRE(process.ok());
    process_ = *std::move(process);
  }
  void Signal(int signal) { kill(process_->pid(), signal); }
  ProcessEnd Wait() {
    loop_.After(std::chrono::seconds(60), [this] { loop_.Quit(); });
    loop_.Run();
    INFO(log_);
    REQUIRE(process_->HasEnded());
    return end_;
  }

 private:
  EventLoop loop_;
  std::string log_;
  ProcessEnd end_;
  std::unique_ptr<Process> process_;
};

}  // namespace

TEST_CASE("winnow-worker: says its version and its flags", "[worker]") {
  CHECK(RunSpec(WorkerSpec({"--version"}))->out == "winnow-worker " WINNOW_VERSION "\n");
  CHECK_THAT(RunSpec(WorkerSpec({"--help"}))->out, Catch::Contains("--shared-dir"));
}

TEST_CASE("winnow-worker: a wrong flag is refused by name", "[worker]") {
  struct Case {
    std::vector<std::string> flags;
    const char* expected;
  };
  const auto [flags, expected] = GENERATE(values<Case>({
      {{"--slots", "0"}, "--slots 0: expected a number from 1 to "},
      {{"--slots", "-1"}, "--slots"},
      {{"--slots", "many"}, "--slots"},
      {{"--slots", "1025"}, "--slots"},
      {{"--server", "127.0.0.1"}, "--server: \"127.0.0.1\" is not a server's address: the port is missing"},
      {{"--server", "unix:here"}, "a socket's path must begin with /"},
      {{"--tls-cert", "worker.pem"}, "--tls-cert: a certificate needs its key: --tls-key FILE"},
      {{"--token-file", "/nonexistent"}, "--token-file: /nonexistent: No such file"},
      {{"--name", ""}, "--name"},
      {{"--name", "a/b"}, "--name: \"a/b\": expected at most 63"},
      {{"--host", ""}, "--host"},
      {{"--label", "a b"}, "--label: \"a b\": expected NAME or NAME=VALUE"},
      {{"--cpus", "0"}, "--cpus"},
      {{"--memory-gib", "-1"}, "--memory-gib"},
      {{"--preemption-interval", "nan"}, "--preemption-interval"},
      {{"--rendezvous-port", "0"}, "--rendezvous-port"},
      {{"--rendezvous-port", "65535", "--slots", "2"}, "--rendezvous-port: 65535 leaves fewer than 2 ports"},
      {{"--offline-timeout", "-1"}, "--offline-timeout"},
      {{"--offline-timeout", "nan"}, "--offline-timeout"},
      {{"--join-timeout", "nan"}, "--join-timeout"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--no-such-flag"}, "--no-such-flag"},
      {{"--config", "/no/such/file"}, "--config: /no/such/file: No such file or directory"},
      {{"stray"}, "stray"},
  }));
  const auto result = RunSpec(WorkerSpec(flags));
  INFO(expected);
  REQUIRE(result.has_value());
  CHECK(result->end.exit_code == 2);
  CHECK_THAT(result->err, Catch::Contains(expected));
}

TEST_CASE("winnow-worker: --check reads the TLS files too", "[worker]") {
  const auto result = RunSpec(WorkerSpec({"--check", "--tls-ca", "/no/such/ca.pem"}));
  CHECK(result->end.exit_code == 1);
  CHECK_THAT(result->err, Catch::Contains("--tls-ca: /no/such/ca.pem: No such file"));
  CHECK(RunSpec(WorkerSpec({"--check"}))->end.exit_code == 0);
}

TEST_CASE("winnow-worker: a work folder that cannot be used is refused", "[worker]") {
  TempFolder folder;
  const auto lock = WorkFolderLock::Take(folder / "work");
  REQUIRE(lock.ok());
  const auto second = RunSpec(WorkerSpec({"--work-dir", (folder / "work").string()}));
  CHECK(second->end.exit_code == 1);
  CHECK_THAT(second->err,
             Catch::Contains("is used by another winnow-worker (process " + std::to_string(getpid())));

  const auto impossible = RunSpec(WorkerSpec({"--work-dir", "/proc/winnow"}));
  CHECK(impossible->end.exit_code == 1);
  CHECK_THAT(impossible->err, Catch::Contains("cannot create directory /proc/winnow"));
}

TEST_CASE("winnow-worker: SIGTERM hands back what runs and exits 0", "[worker]") {
  TempFolder folder;
  FakeServer server;
  WorkerProcess worker(Flags(server, folder));
  server.Assign(MakeAssignment("a", {"sh", "-c", "echo loss=1; exec sleep 1000"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    return told.assignments.contains("a") && !told.assignments.at("a").values.empty();
  }));

  worker.Signal(SIGTERM);

  CHECK(worker.Wait().exit_code == 0);
  CHECK(server.known("a").outcome.kind() == v1::Outcome::HANDED_BACK);
  const v1::SyncRequest last = server.told().requests.back();
  CHECK(server.told().left);
  CHECK(last.storage_id() + "\n" == ReadAll(folder / "shared/storage-id"));
}

TEST_CASE("winnow-worker: tells its labels, processors, memory and limits", "[worker]") {
  TempFolder folder;
  FakeServer server;
  std::vector<std::string> flags = Flags(server, folder);
  for (const char* flag : {"--label", "zone=a", "--label", "fast", "--cpus", "1.5", "--host-workers", "4"}) {
    flags.emplace_back(flag);
  }
  WorkerProcess worker(flags);
  REQUIRE(server.Await([](const FakeServer::Told& told) { return !told.requests.empty(); }));

  const v1::SyncRequest first = server.told().requests[0];
  CHECK(first.labels().at("zone") == "a");
  CHECK(first.labels().at("fast").empty());
  CHECK(first.cpus() == 1.5);
  CHECK(first.memory_gib() == Approx(ReadHostCapacity().memory_gib / 4));
  CHECK((first.limits() == "cgroup v2" || first.limits() == "rlimits"));
  CHECK(first.host() == "127.0.0.1");
  worker.Signal(SIGTERM);
  CHECK(worker.Wait().exit_code == 0);
}

TEST_CASE("winnow-worker: a preemption notice hands back what runs, says why and exits 0", "[worker]") {
  TempFolder folder;
  FakeServer server;
  std::vector<std::string> flags = Flags(server, folder);
  const std::string notice = (folder / "notice").string();
  for (const std::string& flag : {std::string("--preemption-command"), "cat " + notice,
                                  std::string("--preemption-interval"), std::string("0.05")}) {
    flags.push_back(flag);
  }
  WorkerProcess worker(flags);
  server.Assign(MakeAssignment("a", {"sh", "-c", "echo loss=1; exec sleep 1000"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    return told.assignments.contains("a") && !told.assignments.at("a").values.empty();
  }));

  std::ofstream(folder / "spot") << "terminate in 120 s\n";
  std::filesystem::rename(folder / "spot", notice);

  CHECK(worker.Wait().exit_code == 0);
  CHECK(server.known("a").outcome.kind() == v1::Outcome::HANDED_BACK);
  CHECK(server.told().left);
  CHECK(server.told().requests.back().leaving_reason() == "preempted: terminate in 120 s");
}

TEST_CASE("winnow-worker: a second SIGTERM does not wait for the grace", "[worker]") {
  TempFolder folder;
  FakeServer server;
  WorkerProcess worker(Flags(server, folder));
  v1::Assignment stubborn = MakeAssignment(
      "a", {"sh", "-c", "trap 'echo loss=2' TERM; echo loss=1; while true; do sleep 0.01; done"});
  stubborn.mutable_grace_period()->set_seconds(1000);
  server.Assign(stubborn);
  const auto values = [&server](size_t count) {
    return server.Await([count](const FakeServer::Told& told) {
      return told.assignments.contains("a") && told.assignments.at("a").values.size() >= count;
    });
  };
  REQUIRE(values(1));
  worker.Signal(SIGTERM);
  REQUIRE(values(2));
  worker.Signal(SIGINT);
  CHECK(worker.Wait().exit_code == 0);
}

TEST_CASE("winnow-worker: SIGKILL takes all trainers with it, and frees the work folder", "[worker]") {
  TempFolder folder;
  FakeServer server;
  WorkerProcess worker(Flags(server, folder));
  server.Assign(MakeAssignment("a", {"sh", "-c", "echo loss=$$; exec sleep 1000"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    return told.assignments.contains("a") && !told.assignments.at("a").values.empty();
  }));
  const auto pid = static_cast<pid_t>(server.known("a").values.at({1, "loss"}));
  const int trainer = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  REQUIRE(trainer >= 0);

  worker.Signal(SIGKILL);

  CHECK(worker.Wait().signal == SIGKILL);
  pollfd wait{trainer, POLLIN, 0};
  CHECK(poll(&wait, 1, 20'000) == 1);
  close(trainer);
  CHECK(WorkFolderLock::Take(folder / "work").ok());
}

TEST_CASE(
    "winnow-worker: after SIGKILL the next in its folder ends what trainers left, and is known as the same",
    "[worker]") {
  TempFolder folder;
  FakeServer server;
  std::optional<WorkerProcess> worker(Flags(server, folder));
  server.Assign(MakeAssignment(
      "a", {"sh", "-c",
            "(trap '' TERM HUP; exec sleep 1000) & echo loss=$!; setsid sleep 1000 & echo loss=$!; wait"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    return told.assignments.contains("a") && told.assignments.at("a").values.size() == 2;
  }));
  std::vector<pollfd> left;
  for (const int line : {1, 2}) {
    const auto pid = static_cast<pid_t>(server.known("a").values.at({line, "loss"}));
    left.push_back({static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0});
    REQUIRE(left.back().fd >= 0);
  }
  const std::string old_id = server.told().requests[0].worker_id();
  worker->Signal(SIGKILL);
  CHECK(worker->Wait().signal == SIGKILL);
  for (pollfd& process : left) CHECK(poll(&process, 1, 0) == 0);

  server.GiveUp();
  worker.emplace(Flags(server, folder));
  const auto is_new = [&old_id](const FakeServer::Told& told) {
    return told.requests.back().worker_id() != old_id;
  };
  REQUIRE(server.Await(is_new));
  for (pollfd& process : left) {
    CHECK(poll(&process, 1, 0) == 1);  // before the first word to the server
    close(process.fd);
  }
  const std::string new_id = server.told().requests.back().worker_id();
  CHECK(new_id.size() == 32);
  CHECK(new_id.substr(0, 16) == old_id.substr(0, 16));
  CHECK(old_id.substr(0, 16) == ReadAll(folder / "work/worker-id").substr(0, 16));
  worker->Signal(SIGTERM);
  CHECK(worker->Wait().exit_code == 0);
}

TEST_CASE(
    "winnow-worker: after SIGKILL the next in its folder ends also what has shed its marks, by its group",
    "[worker]") {
  TempFolder folder;
  FakeServer server;
  std::optional<WorkerProcess> worker(Flags(server, folder));
  server.Assign(
      MakeAssignment("a", {"sh", "-c", "env -i setsid sh -c 'echo loss=$$; exec sleep 1000' & wait"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    return told.assignments.contains("a") && told.assignments.at("a").values.size() == 1;
  }));
  const auto pid = static_cast<pid_t>(server.known("a").values.at({1, "loss"}));
  pollfd left{static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0};
  REQUIRE(left.fd >= 0);
  const std::string old_id = server.told().requests[0].worker_id();
  worker->Signal(SIGKILL);
  CHECK(worker->Wait().signal == SIGKILL);
  const bool has_groups = std::filesystem::exists(folder / "work/cgroup");
  CHECK(poll(&left, 1, 0) == 0);

  server.GiveUp();
  worker.emplace(Flags(server, folder));
  REQUIRE(server.Await(
      [&old_id](const FakeServer::Told& told) { return told.requests.back().worker_id() != old_id; }));
  if (has_groups) CHECK(poll(&left, 1, 0) == 1);  // before the first word to the server
  if (!has_groups) kill(pid, SIGKILL);
  close(left.fd);
  worker->Signal(SIGTERM);
  CHECK(worker->Wait().exit_code == 0);
  if (!has_groups) Skip("this machine permits no groups of cgroup v2");
}

TEST_CASE("winnow-worker: a name that is in use ends it with the server's words", "[worker]") {
  TempFolder folder;
  FakeServer server;
  server.Fail(1, grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "the name w is in use"), false);
  const auto result = RunSpec(WorkerSpec(Flags(server, folder)));
  REQUIRE(result.has_value());
  CHECK(result->end.exit_code == 1);
  CHECK_THAT(result->err, Catch::Contains("the name w is in use"));
}

}  // namespace winnow
