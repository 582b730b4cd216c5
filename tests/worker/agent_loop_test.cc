// The agent and its loop with every call on a thread of its own, but no network: this is what runs under the
// thread sanitizer, which sees races in the packaged gRPC that are none.

#include <signal.h>

#include <fstream>
#include <list>
#include <mutex>
#include <thread>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "worker/agent.h"
#include "worker/runs/process_trainers.h"
#include "worker/runs/trainer_environment.h"

namespace winnow {
namespace {

// Carries calls to a FakeServer in this process, in any order that threads happen to have.
class ThreadClient : public SyncClient {
 public:
  explicit ThreadClient(FakeServer* server) : server_(server) {}
  ~ThreadClient() override {
    server_->Close();
    for (std::thread& thread : threads_) thread.join();
  }
  void Sync(uint64_t, const v1::SyncRequest& request, std::chrono::milliseconds, Done done) override {
    std::lock_guard lock(mutex_);
    threads_.emplace_back([this, request, done = std::move(done)] {
      v1::SyncResponse response;
      const grpc::Status status = server_->Sync(nullptr, &request, &response);
      done(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
           std::move(response));
    });
  }
  void Cancel(uint64_t) override {}  // the server answers an older call by itself

 private:
  FakeServer* const server_;
  std::mutex mutex_;
  std::list<std::thread> threads_;
};

}  // namespace

TEST_CASE("EventLoop: what many threads post runs on one, in each one's order", "[worker]") {
  EventLoop loop;
  std::vector<std::vector<int>> seen(4);
  int left = 4 * 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        loop.Post([&, t, i] {
          seen[t].push_back(i);
          if (--left == 0) loop.Quit();
        });
      }
    });
  }
  loop.Run();
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : seen) {
    CHECK(one.size() == 1000);
    CHECK(std::is_sorted(one.begin(), one.end()));
  }
}

TEST_CASE("EventLoop: timers fire in the order of their times, cancelled ones never", "[worker]") {
  EventLoop loop;
  std::string fired;
  const auto now = EventLoop::Clock::now();
  loop.At(now + std::chrono::milliseconds(2), [&] { fired += 'b'; });
  loop.At(now + std::chrono::milliseconds(1), [&] { fired += 'a'; });
  const EventLoop::Id cancelled = loop.At(now, [&] { fired += 'x'; });
  loop.At(now + std::chrono::milliseconds(3), [&] { loop.Quit(); });
  loop.Cancel(cancelled);
  loop.Run();
  CHECK(fired == "ab");
}

// An agent of a worker with so many slots, which runs in a thread and starts real processes.
class AgentThread {
 public:
  // `of_pool` and `patience`: TrainerPlace.
  AgentThread(FakeServer* server, int slots, bool of_pool = false,
              std::chrono::milliseconds patience = std::chrono::milliseconds(10))
      : client_(std::make_unique<ThreadClient>(server)),
        trainers_(&loop_, Place(of_pool, patience), {29500, 100}),
        agent_(&loop_, client_.get(), &trainers_, Options(slots)),
        thread_([this] { status_ = agent_.Run(&loop_); }) {}

  ~AgentThread() {
    if (thread_.joinable()) static_cast<void>(Leave());
  }

  // Tells the agent to leave, waits for its end, and returns what it ended with.
  absl::Status Leave() {
    agent_.Leave();
    thread_.join();
    client_.reset();
    return status_;
  }

 private:
  TrainerPlace Place(bool of_pool, std::chrono::milliseconds patience) const {
    TrainerPlace place{folder_ / "work", folder_ / "shared", "", "127.0.0.1", OwnEnvironment()};
    place.is_of_pool = of_pool;
    place.signal_patience = patience;
    return place;
  }

  static AgentOptions Options(int slots) {
    AgentOptions options;
    options.identity.name = "w";
    options.identity.host = "127.0.0.1";
    options.identity.slots = slots;
    options.identity.storage_id = "storage";
    return options;
  }

  TempFolder folder_;
  EventLoop loop_;
  std::unique_ptr<ThreadClient> client_;
  ProcessTrainers trainers_;
  Agent agent_;
  absl::Status status_;
  std::thread thread_;
};

TEST_CASE("Agent: many short trials, lost answers and a lost worker, all in threads", "[worker]") {
  constexpr int kTrials = 24;
  FakeServer server(FakeServer::kNoNetwork);
  AgentThread agent(&server, 4);

  for (int i = 0; i < kTrials; ++i) {
    v1::Assignment assignment = MakeAssignment(
        std::to_string(i), {"/bin/sh", "-c", "for i in 1 2 3; do echo loss=$i; done; echo x >&2"});
    assignment.set_trial(i + 1);
    if (i % 8 == 3) server.Fail(2, grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost"), i % 16 == 3);
    server.Assign(assignment);
    if (i % 4 == 3) REQUIRE(server.AwaitEnd(std::to_string(i)));
  }
  for (int i = 0; i < kTrials; ++i) {
    INFO(i);
    REQUIRE(server.AwaitEnd(std::to_string(i)));
    CHECK(server.known(std::to_string(i)).values_at_end == 3);
    CHECK(server.known(std::to_string(i)).outcome.kind() == v1::Outcome::FINISHED);
  }
  server.GiveUp();
  server.Assign(MakeAssignment("last", {"/bin/sh", "-c", "echo loss=1; exec sleep 1000"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) { return told.assignments.contains("last"); }));
  CHECK(agent.Leave().ok());
  CHECK(server.known("last").outcome.kind() == v1::Outcome::HANDED_BACK);
}

// What a trainer of three levels does at a SIGTERM: it dies of it, or it exits with 0, as the contract asks.
constexpr char kDies[] = "echo loss=1; kill -TERM $$";
constexpr char kExits[] = "echo loss=1; exit 0";

v1::Assignment OfThreeLevels(const std::string& id, const std::string& script) {
  v1::Assignment assignment = MakeAssignment(id, {"/bin/sh", "-c", script});
  assignment.set_resource_to(3);
  return assignment;
}

// Waits until the process whose id is in the file has ended, and the worker knows it.
bool AwaitReaped(const std::string& file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    std::ifstream text(file);
    if (pid_t pid = 0; text >> pid && kill(pid, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST_CASE("Agent: a trainer that ends early in a worker that stays counts as it has ended", "[worker]") {
  FakeServer server(FakeServer::kNoNetwork);
  AgentThread agent(&server, 1, true);
  server.Assign(OfThreeLevels("dies", kDies));
  REQUIRE(server.AwaitEnd("dies"));
  CHECK(server.known("dies").outcome.kind() == v1::Outcome::FAILED);
  server.Assign(OfThreeLevels("exits", kExits));
  REQUIRE(server.AwaitEnd("exits"));
  CHECK(server.known("exits").outcome.kind() == v1::Outcome::FINISHED);
}

TEST_CASE("Agent: a trainer that ends early is handed back if its engine tells the worker to leave too",
          "[worker]") {
  for (const char* script : {kDies, kExits}) {
    INFO(script);
    FakeServer server(FakeServer::kNoNetwork);
    AgentThread agent(&server, 1, true, std::chrono::hours(1));
    TempFolder folder;
    const std::string file = (folder / "pid").string();
    server.Assign(OfThreeLevels("preempted",
                                "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; " + script));
    REQUIRE(AwaitReaped(file));
    CHECK(agent.Leave().ok());
    CHECK(server.known("preempted").outcome.kind() == v1::Outcome::HANDED_BACK);
    CHECK(server.known("preempted").outcome.reason().empty());
  }
}

TEST_CASE("Agent: a trainer's end that no engine can have caused is reported at once", "[worker]") {
  FakeServer server(FakeServer::kNoNetwork);
  const bool of_pool = GENERATE(false, true);
  AgentThread agent(&server, 1, of_pool, std::chrono::hours(1));
  // In a pool, one that has reached its level.
  server.Assign(OfThreeLevels("ends", of_pool ? "for i in 1 2 3; do echo loss=$i; done" : kExits));
  REQUIRE(server.AwaitEnd("ends"));
  CHECK(server.known("ends").outcome.kind() == v1::Outcome::FINISHED);
}

TEST_CASE("Agent: another trial may have the slot of a trainer whose end is not reported yet", "[worker]") {
  FakeServer server(FakeServer::kNoNetwork);
  AgentThread agent(&server, 1, true, std::chrono::hours(1));
  server.Assign(OfThreeLevels("early", kExits));
  v1::Assignment next = OfThreeLevels("next", "for i in 1 2 3; do echo loss=$i; done");
  next.set_trial(2);
  server.Assign(next);
  REQUIRE(server.AwaitEnd("next"));
  CHECK_FALSE(server.known("early").ended);
}

}  // namespace winnow
