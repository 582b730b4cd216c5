// The agent and its loop with every call on a thread of its own, but no network: this is what runs under the
// thread sanitizer, which sees races in the packaged gRPC that are none.

#include <list>
#include <mutex>
#include <thread>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "worker/agent.h"
#include "worker/process_trainers.h"
#include "worker/trainer_environment.h"

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
  AgentThread(FakeServer* server, int slots)
      : client_(std::make_unique<ThreadClient>(server)),
        trainers_(&loop_,
                  TrainerPlace{folder_ / "work", folder_ / "shared", "", "127.0.0.1", OwnEnvironment()},
                  {29500, 100}),
        agent_(&loop_, client_.get(), &trainers_, Options(slots)),
        thread_([this] { status_ = agent_.Run(&loop_); }) {}

  // Tells the agent to leave, waits for its end, and returns what it ended with.
  absl::Status Leave() {
    agent_.Leave();
    thread_.join();
    client_.reset();
    return status_;
  }

 private:
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

TEST_CASE("Agent: a trainer that a foreign SIGTERM kills is handed back if the worker is told to leave too",
          "[worker]") {
  FakeServer server(FakeServer::kNoNetwork);
  AgentThread agent(&server, 2);

  server.Assign(MakeAssignment("alone", {"/bin/sh", "-c", "kill -TERM $$"}));
  REQUIRE(server.AwaitEnd("alone"));
  CHECK(server.known("alone").outcome.kind() == v1::Outcome::FAILED);
  server.Assign(MakeAssignment("preempted", {"/bin/sh", "-c", "kill -TERM $$"}));
  REQUIRE(server.Await([](const FakeServer::Told& told) { return told.assignments.contains("preempted"); }));
  CHECK(agent.Leave().ok());
  CHECK(server.known("preempted").outcome.kind() == v1::Outcome::HANDED_BACK);
}

}  // namespace winnow
