// The agent over real gRPC, with real processes, against a server that follows the contract.

#include "worker/agent.h"

#include <google/protobuf/util/time_util.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "checkout.h"
#include "rpc/channel.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "worker/grpc_sync_client.h"
#include "worker/runs/process_trainers.h"
#include "worker/runs/trainer_environment.h"

namespace winnow {
namespace {

// An agent on a thread of its own, from construction until it has left.
class RunningAgent {
 public:
  RunningAgent(const std::string& server, const TempFolder& folder,
               std::chrono::milliseconds offline_timeout = {}, PortRange ports = {29500, 100},
               WarmLimits warm = {}) {
    AgentOptions options;
    options.identity.name = "worker-a";
    options.identity.host = "127.0.0.1";
    options.identity.slots = 2;
    options.identity.storage_id = "storage";
    options.identity.rendezvous_port = 29500;
    options.offline_timeout = offline_timeout;
    options.farewell_timeout = std::chrono::milliseconds(500);
    client_ = std::make_unique<GrpcSyncClient>(*Connect({.address = server}));
    const TrainerPlace place{folder / "work", folder / "shared", WINNOW_BIN_DIR, "127.0.0.1",
                             OwnEnvironment()};
    trainers_ = std::make_unique<ProcessTrainers>(&loop_, place, ports, nullptr, nullptr, warm);
    agent_ = std::make_unique<Agent>(&loop_, client_.get(), trainers_.get(), options);
    thread_ = std::thread([this] { status_ = agent_->Run(&loop_); });
  }
  ~RunningAgent() {
    if (thread_.joinable()) agent_->LeaveNow();
    if (thread_.joinable()) thread_.join();
  }
  void Leave() { agent_->Leave(); }
  absl::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  EventLoop loop_;
  std::unique_ptr<GrpcSyncClient> client_;
  std::unique_ptr<ProcessTrainers> trainers_;
  std::unique_ptr<Agent> agent_;
  absl::Status status_;
  std::thread thread_;
};

v1::Assignment Shell(const std::string& id, const std::string& script) {
  return MakeAssignment(id, {"/bin/sh", "-c", script});
}

bool AwaitValues(FakeServer* server, const std::string& id, size_t count) {
  return server->Await([&](const FakeServer::Told& told) {
    return told.assignments.contains(id) && told.assignments.at(id).values.size() >= count;
  });
}

}  // namespace

TEST_CASE("Agent: runs what is assigned and tells reports, logs and outcome", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);

  server.Assign(Shell("a", "echo loss=0.5; echo loss=0.25; echo warned >&2; echo $WINNOW_TRIAL"));
  REQUIRE(server.AwaitEnd("a"));

  const FakeServer::Known known = server.known("a");
  CHECK(known.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(known.values ==
        std::map<std::pair<int64_t, std::string>, double>{{{1, "loss"}, 0.5}, {{2, "loss"}, 0.25}});
  CHECK(known.values_at_end == 2);
  CHECK(known.logs.at(v1::GetLogsRequest::STDOUT) == "loss=0.5\nloss=0.25\n1\n");
  CHECK(known.logs.at(v1::GetLogsRequest::STDERR) == "warned\n");
  CHECK(ReadAll(folder / "work/jobs/job/1/attempt-1-rank-0.stdout.log") == "loss=0.5\nloss=0.25\n1\n");
}

TEST_CASE("Agent: a rank of a cluster is prepared, then starts at the port that it gave", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);

  v1::Assignment assignment = Shell("a", "echo loss=$MASTER_PORT");
  assignment.set_await_start(true);
  server.Assign(assignment);
  int port = 0;
  REQUIRE(server.Await([&](const FakeServer::Told& told) {
    for (const v1::SyncRequest& request : told.requests) {
      for (const v1::RunningAssignment& running : request.running()) {
        if (running.state() == v1::RunningAssignment::PREPARED) port = running.rendezvous_port();
      }
    }
    return port > 0;
  }));
  CHECK(server.known("a").values.empty());
  assignment.set_await_start(false);
  assignment.set_master_port(port);
  server.Assign(assignment);
  REQUIRE(server.AwaitEnd("a"));

  CHECK(server.known("a").outcome.kind() == v1::Outcome::FINISHED);
  CHECK(server.known("a").values.at({1, "loss"}) == port);
}

TEST_CASE("Agent: what it holds beyond its slots starts when another has ended, and can be withdrawn before",
          "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);  // of 2 slots
  const std::string opened = folder / "opened";
  for (const char* id : {"a", "b"}) REQUIRE(mkfifo((folder / id).c_str(), 0600) == 0);
  const auto of_trial = [](v1::Assignment assignment, int64_t trial) {
    assignment.set_trial(trial);
    assignment.set_slots(1);
    return assignment;
  };
  const auto wait = [&](const char* gate) {
    return "echo loss=1; read line < " + std::string(folder / gate) + "; touch " + opened;
  };
  server.Assign(of_trial(Shell("a", wait("a")), 1));
  server.Assign(of_trial(Shell("b", wait("b")), 2));
  REQUIRE((AwaitValues(&server, "a", 1) && AwaitValues(&server, "b", 1)));
  const std::string third = "test -e " + opened + " && echo loss=3 || echo loss=4";
  server.Assign(of_trial(Shell("c", third), 3));
  server.Assign(of_trial(Shell("d", third), 4));
  const auto names = [](const FakeServer::Told& told, const std::string& id) {
    return std::any_of(told.requests.back().running().begin(), told.requests.back().running().end(),
                       [&id](const v1::RunningAssignment& running) { return running.assignment_id() == id; });
  };
  REQUIRE(server.Await([&](const FakeServer::Told& told) { return names(told, "c") && names(told, "d"); }));
  server.Withdraw("c");
  REQUIRE(server.AwaitEnd("c"));
  CHECK(server.known("c").outcome.kind() == v1::Outcome::STOPPED);
  CHECK(server.known("c").values.empty());
  CHECK(server.known("d").values.empty());
  for (const char* id : {"a", "b"}) {
    CHECK_FALSE(server.known(id).ended);
    std::ofstream(folder / id) << "go\n" << std::flush;
  }
  REQUIRE((server.AwaitEnd("a") && server.AwaitEnd("b") && server.AwaitEnd("d")));
  CHECK(server.known("d").values.at({1, "loss"}) == 3);
}

TEST_CASE("Agent: the time of a program that says too early that it saves counts to its end", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder, {}, {29500, 100}, {4});
  v1::Assignment early = Shell("early", "echo saving 1 >&$WINNOW_CONTROL_FD; sleep 0.3; echo loss=1");
  early.set_command(0, "/bin/bash");
  early.set_resource_to(1);
  server.Assign(early);
  REQUIRE(server.AwaitEnd("early"));
  const v1::Outcome outcome = server.known("early").outcome;
  CHECK(outcome.kind() == v1::Outcome::FINISHED);
  const auto duration = outcome.end_time() - outcome.start_time();
  CHECK(google::protobuf::util::TimeUtil::DurationToMilliseconds(duration) >= 300);
}

TEST_CASE("Agent: a program that only saves has left its slot, and is judged by its end", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder, {}, {29500, 100}, {4});  // of 2 slots
  const auto part = [&](const std::string& id, int64_t trial, const std::string& word,
                        const std::string& end) {
    const std::string gate = folder / id;
    REQUIRE(mkfifo(gate.c_str(), 0600) == 0);
    v1::Assignment assignment = Shell(id, "echo loss=1 slot=$WINNOW_SLOT; echo " + word +
                                              " >&$WINNOW_CONTROL_FD; read line < " + gate + "; " + end);
    // a shell of Debian takes one digit for a descriptor
    assignment.set_command(0, "/bin/bash");
    assignment.set_trial(trial);
    assignment.set_slots(1);
    assignment.set_resource_to(1);
    return assignment;
  };
  server.Assign(part("a", 1, "saving 1", "exit 0"));
  server.Assign(part("b", 2, "saving 1", "exit 3"));
  REQUIRE((AwaitValues(&server, "a", 1) && AwaitValues(&server, "b", 1)));
  // One that names another level keeps its slot.
  server.Assign(part("c", 3, "saving 7", "exit 0"));
  server.Assign(part("d", 4, "saving 1", "exit 0"));
  REQUIRE((AwaitValues(&server, "c", 1) && AwaitValues(&server, "d", 1)));
  for (const char* id : {"a", "b", "c", "d"}) CHECK_FALSE(server.known(id).ended);
  REQUIRE(server.Await([](const FakeServer::Told& told) {
    const auto out = [&told](const char* id) {
      const auto& logs = told.assignments.at(id).logs;
      return logs.contains(0) || logs.contains(1) ? logs.begin()->second : std::string();
    };
    // both places are free again
    return (out("c") + out("d")).find("slot=0") != std::string::npos &&
           (out("c") + out("d")).find("slot=1") != std::string::npos;
  }));
  for (const char* id : {"a", "b", "c", "d"}) std::ofstream(folder / id) << "go\n" << std::flush;
  for (const char* id : {"a", "b", "c", "d"}) REQUIRE(server.AwaitEnd(id));
  CHECK(server.known("a").outcome.kind() == v1::Outcome::FINISHED);
  CHECK(server.known("b").outcome.kind() == v1::Outcome::FAILED);
  CHECK(server.known("b").outcome.exit_code() == 3);
}

TEST_CASE("Agent: ranks meet at another port where those that were named are taken", "[worker]") {
  TempFolder folder;
  FakeServer server;
  std::vector<PortLease> taken;  // as by another worker of this host
  const int first = PortLease::TakeAny()->port();
  for (int port = first; port < first + 2; ++port) {
    if (std::optional<PortLease> lease = PortLease::Take(port, 1)) taken.push_back(*std::move(lease));
  }
  RunningAgent agent(server.address(), folder, {}, {first, 2});
  v1::Assignment assignment = Shell("a", "echo loss=$MASTER_PORT");
  assignment.set_world_size(2);
  assignment.set_await_start(true);
  server.Assign(assignment);
  int port = 0;
  REQUIRE(server.Await([&](const FakeServer::Told& told) {
    for (const v1::SyncRequest& request : told.requests) {
      for (const v1::RunningAssignment& running : request.running())
        port = std::max(port, running.rendezvous_port());
    }
    return port > 0;
  }));
  CHECK((port < first || port > first + 1));
}

TEST_CASE("Agent: one rank alone needs no port of those that were named, and has one nevertheless",
          "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder, {}, {65535, 1});
  const std::optional<PortLease> taken = PortLease::Take(65535, 1);
  const std::string script = "echo loss=$MASTER_PORT; echo loss=$WINNOW_SLOT; while [ ! -e " +
                             (folder / "go").string() + " ]; do sleep 0.01; done";
  server.Assign(Shell("a", script));
  REQUIRE(AwaitValues(&server, "a", 2));
  server.Assign(Shell("b", script));
  REQUIRE(AwaitValues(&server, "b", 2));
  std::ofstream(folder / "go") << "go";
  REQUIRE(server.AwaitEnd("a"));
  REQUIRE(server.AwaitEnd("b"));
  std::ofstream(folder / "go") << "go";
  server.Assign(Shell("c", script));
  REQUIRE(server.AwaitEnd("c"));
  const auto value = [&server](const char* id, int64_t level) {
    return server.known(id).values.at({level, "loss"});
  };
  CHECK(value("a", 1) > 0);
  CHECK(value("b", 1) > 0);
  CHECK(value("a", 1) != value("b", 1));
  CHECK(value("a", 2) == 0);
  CHECK(value("b", 2) == 1);
  CHECK(value("c", 2) == 0);  // given back
}

TEST_CASE("Agent: sends notices before the outcome", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  v1::Assignment assignment = Shell("a", "echo epoch 0 loss=1; echo epoch 1 loss=2");
  assignment.set_resource_regex("epoch ([0-9]+)");
  server.Assign(assignment);
  REQUIRE(server.AwaitEnd("a"));
  bool told = false;
  for (const v1::SyncRequest& request : server.told().requests) {
    for (const v1::AssignmentNotice& notice : request.notices()) {
      CHECK(notice.assignment_id() == "a");
      CHECK(notice.kind() == v1::JobNotice::LEVEL_BELOW_ONE);
      told = true;
    }
  }
  CHECK(told);
}

TEST_CASE("Agent: a failed trainer gives its exit code and last words", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);

  server.Assign(Shell("a", "echo out of luck >&2; exit 3"));
  server.Assign(Shell("b", "kill -9 $$"));
  server.Assign(MakeAssignment("c", {"no-such-trainer"}));
  v1::Assignment bad_regex = Shell("d", "echo loss=1");
  bad_regex.mutable_metrics(0)->set_regex("loss=(");
  server.Assign(bad_regex);
  for (const char* id : {"a", "b", "c", "d"}) REQUIRE(server.AwaitEnd(id));

  CHECK(server.known("a").outcome.kind() == v1::Outcome::FAILED);
  CHECK(server.known("a").outcome.exit_code() == 3);
  CHECK(server.known("a").outcome.reason() == "out of luck (exit code 3)");
  CHECK(server.known("b").outcome.exit_code() == 137);
  CHECK(server.known("b").outcome.reason() == "killed by signal 9 (SIGKILL)");
  CHECK_THAT(server.known("c").outcome.reason(), Catch::Contains("no-such-trainer: no such program"));
  CHECK_THAT(server.known("d").outcome.reason(),
             Catch::Contains("metric loss") && Catch::Contains("missing )"));
  CHECK(server.known("d").outcome.kind() == v1::Outcome::FAILED);
}

TEST_CASE("Agent: an assignment that is no longer wanted is stopped", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  server.Assign(Shell("a", "echo loss=1; exec sleep 1000"));
  REQUIRE(AwaitValues(&server, "a", 1));

  server.Withdraw("a");

  REQUIRE(server.AwaitEnd("a"));
  CHECK(server.known("a").outcome.kind() == v1::Outcome::STOPPED);
}

TEST_CASE("Agent: a trainer that cannot resume is stopped at its budget", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  std::filesystem::create_directories(folder / "shared/jobs/job/trials/1/checkpoint/old");
  v1::Assignment assignment =
      Shell("a", "ls -A $WINNOW_CHECKPOINT_DIR; for i in 1 2 3 4 5; do echo loss=$i; done; exec sleep 1000");
  assignment.set_resumes(false);
  assignment.set_resource_to(3);

  server.Assign(assignment);

  REQUIRE(server.AwaitEnd("a"));
  const FakeServer::Known known = server.known("a");
  CHECK(known.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(known.values == std::map<std::pair<int64_t, std::string>, double>{
                            {{1, "loss"}, 1}, {{2, "loss"}, 2}, {{3, "loss"}, 3}});
  CHECK(known.logs.at(v1::GetLogsRequest::STDOUT).starts_with("loss=1\n"));  // the folder was empty
}

TEST_CASE("Agent: a first attempt finds nothing of another job with the same id", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  const std::string trial = folder / "shared/jobs/job/trials/1/";
  for (const char* left : {"checkpoint/old", "model/old", "output/old", "reports"})
    std::filesystem::create_directories(trial + left);
  v1::Assignment assignment =
      Shell("a",
            "ls -A $WINNOW_CHECKPOINT_DIR; touch $WINNOW_CHECKPOINT_DIR/new; ls -A $SM_MODEL_DIR; "
            "ls -A $SM_OUTPUT_DATA_DIR; echo loss=1");
  server.Assign(assignment);
  REQUIRE(server.AwaitEnd("a"));
  assignment.set_id("b");
  assignment.set_attempt(2);
  server.Assign(assignment);
  REQUIRE(server.AwaitEnd("b"));

  CHECK(server.known("a").logs.at(v1::GetLogsRequest::STDOUT) == "loss=1\n");
  CHECK(server.known("b").logs.at(v1::GetLogsRequest::STDOUT) == "new\nloss=1\n");
}

TEST_CASE("Agent: a trainer that stays after its budget is ended and has finished", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  v1::Assignment assignment = Shell("a", "echo loss=1; echo loss=2; exec sleep 1000");
  assignment.set_resource_to(2);
  assignment.mutable_grace_period()->set_seconds(0);
  assignment.mutable_grace_period()->set_nanos(50'000'000);

  server.Assign(assignment);

  REQUIRE(server.AwaitEnd("a"));
  CHECK(server.known("a").outcome.kind() == v1::Outcome::FINISHED);
}

TEST_CASE("Agent: an idle worker leaves one call with the server", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  REQUIRE(server.Await([](const FakeServer::Told& told) { return told.requests.size() >= 2; }));
  CHECK(server.told().requests[0].hold().seconds() == 0);
  CHECK(server.told().requests[1].hold().seconds() == 20);

  server.Assign(Shell("a", "true"));

  REQUIRE(server.AwaitEnd("a"));
  // Register, poll, running, ended, and perhaps a poll between.
  CHECK(server.told().requests.size() <= 6);
}

TEST_CASE("Agent: lost answers lose nothing and count nothing twice", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  server.Assign(Shell("a", "echo loss=1; while [ ! -e " + (folder / "go").string() +
                               " ]; do sleep 0.01; done; for i in 2 3 4 5 6 7 8 9; do echo loss=$i; done"));
  REQUIRE(AwaitValues(&server, "a", 1));

  server.Fail(3, grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer is lost"), true);
  std::ofstream(folder / "go") << "now";

  REQUIRE(server.AwaitEnd("a"));
  const FakeServer::Known known = server.known("a");
  CHECK(known.values_at_end == 9);
  CHECK(known.reports_received >= 9);
  CHECK(known.logs.at(v1::GetLogsRequest::STDOUT).size() == 9 * std::string("loss=1\n").size());
}

TEST_CASE("Agent: a trainer outlives a restart of the server", "[worker]") {
  TempFolder folder;
  auto server = std::make_unique<FakeServer>();
  const int port = server->port();
  RunningAgent agent(server->address(), folder);
  const v1::Assignment assignment = Shell("a", "echo loss=$$; while [ ! -e " + (folder / "go").string() +
                                                   " ]; do sleep 0.01; done; echo loss=$$");
  server->Assign(assignment);
  REQUIRE(AwaitValues(server.get(), "a", 1));
  const double pid = server->known("a").values.at({1, "loss"});

  server.reset();
  std::ofstream(folder / "go") << "now";
  server = std::make_unique<FakeServer>(port, std::vector{assignment});

  REQUIRE(server->AwaitEnd("a"));
  CHECK(server->known("a").outcome.kind() == v1::Outcome::FINISHED);
  CHECK(server->known("a").values.at({2, "loss"}) == pid);
}

TEST_CASE("Agent: leaving hands back what is not finished", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  const std::string saves_on_term = "trap 'exit 0' TERM; echo loss=1; while true; do sleep 0.01; done";
  v1::Assignment open = Shell("open", saves_on_term);
  open.set_resource_to(9);
  v1::Assignment reached = Shell("reached", saves_on_term);
  reached.set_resource_to(1);
  server.Assign(open);
  server.Assign(reached);
  REQUIRE(AwaitValues(&server, "open", 1));
  REQUIRE(AwaitValues(&server, "reached", 1));

  agent.Leave();

  CHECK(agent.Join().ok());
  CHECK(server.known("open").outcome.kind() == v1::Outcome::HANDED_BACK);
  CHECK(server.known("reached").outcome.kind() == v1::Outcome::FINISHED);
  CHECK(server.told().left);
}

TEST_CASE("Agent: leaving without a server does not hang", "[worker]") {
  TempFolder folder;
  auto server = std::make_unique<FakeServer>();
  RunningAgent agent(server->address(), folder);
  server->Assign(Shell("a", "echo loss=1; exec sleep 1000"));
  REQUIRE(AwaitValues(server.get(), "a", 1));

  server.reset();
  agent.Leave();

  CHECK(agent.Join().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("Agent: a worker that was given up starts anew under another id", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  server.Assign(Shell("a", "echo loss=$$; while [ ! -e " + (folder / "go").string() +
                               " ]; do sleep 0.01; done; echo loss=2; exec sleep 1000"));
  REQUIRE(AwaitValues(&server, "a", 1));
  const auto pid = static_cast<pid_t>(server.known("a").values.at({1, "loss"}));
  const std::string old_id = server.told().requests[0].worker_id();

  server.GiveUp();
  std::ofstream(folder / "go") << "now";

  REQUIRE(
      server.Await([&](const FakeServer::Told& told) { return told.requests.back().worker_id() != old_id; }));
  CHECK(kill(pid, 0) == -1);
  CHECK(server.told().requests.back().running().empty());
  server.Assign(Shell("b", "true"));
  CHECK(server.AwaitEnd("b"));
}

TEST_CASE("Agent: without a server for too long it stops its trainers and fails", "[worker]") {
  TempFolder folder;
  auto server = std::make_unique<FakeServer>();
  RunningAgent agent(server->address(), folder, std::chrono::milliseconds(300));
  server->Assign(Shell("a", "echo loss=$$; exec sleep 1000"));
  REQUIRE(AwaitValues(server.get(), "a", 1));
  const auto pid = static_cast<pid_t>(server->known("a").values.at({1, "loss"}));

  server.reset();

  CHECK(agent.Join().code() == absl::StatusCode::kUnavailable);
  CHECK(kill(pid, 0) == -1);
}

TEST_CASE("Agent: of a flood of output the server gets the first part, the file all", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);

  server.Assign(Shell("a", "head -c 3000000 /dev/zero"));

  REQUIRE(server.AwaitEnd("a"));
  const size_t told = server.known("a").logs.at(v1::GetLogsRequest::STDOUT).size();
  CHECK((told > (1 << 20) + (250 << 10) && told <= (1 << 20) + (256 << 10)));  // beginning and end
  CHECK(server.known("a").truncated.at(v1::GetLogsRequest::STDOUT));
  CHECK(std::filesystem::file_size(folder / "work/jobs/job/1/attempt-1-rank-0.stdout.log") == 3000000);
}

TEST_CASE("Agent: the Python example goes on from its checkpoint", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  v1::Assignment part =
      MakeAssignment("a", {"python3", "python/train.py", "--learning_rate", "0.5", "--momentum", "0.5"});
  part.set_working_directory(WINNOW_SOURCE_DIR "/examples");
  part.mutable_metrics(0)->set_regex(" loss=([-+0-9.e]+|nan|inf)");
  part.set_resource_regex("epoch ([0-9]+)");
  part.set_resource_to(2);
  v1::Assignment next = part;
  next.set_id("b");
  next.set_attempt(2);
  next.set_resource_from(2);
  next.set_resource_to(4);
  v1::Assignment whole = next;
  whole.set_id("c");
  whole.set_trial(2);
  whole.set_resource_from(0);

  server.Assign(part);
  REQUIRE(server.AwaitEnd("a"));
  server.Assign(next);
  server.Assign(whole);
  REQUIRE(server.AwaitEnd("b"));
  REQUIRE(server.AwaitEnd("c"));

  CHECK(server.known("b").outcome.kind() == v1::Outcome::FINISHED);
  auto parts = server.known("a").values;
  CHECK(parts.size() == 2);
  parts.merge(server.known("b").values);
  CHECK(parts.size() == 4);
  CHECK(parts == server.known("c").values);
}

TEST_CASE("Agent: the shell example is stopped at its budget", "[worker]") {
  TempFolder folder;
  FakeServer server;
  RunningAgent agent(server.address(), folder);
  v1::Assignment assignment = MakeAssignment("a", {"sh", "shell/train.sh", "0.05", "0.5", "1000000"});
  assignment.set_working_directory(WINNOW_SOURCE_DIR "/examples");
  assignment.set_resource_regex("step ([0-9]+)");
  assignment.set_resumes(false);
  assignment.set_resource_to(9);

  server.Assign(assignment);

  REQUIRE(server.AwaitEnd("a"));
  CHECK(server.known("a").outcome.kind() == v1::Outcome::FINISHED);
  CHECK(server.known("a").values.size() == 9);
  CHECK(server.known("a").values.at({9, "loss"}) < server.known("a").values.at({1, "loss"}));
}

}  // namespace winnow
