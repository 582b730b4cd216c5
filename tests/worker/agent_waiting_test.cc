// A worker's log while no server answers it.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/catch.h"
#include "worker/agent.h"

namespace winnow {
namespace {

// A thread whose clock moves only from one timer to the next.
class SteppedTimers : public Timers {
 public:
  TimePoint Now() override { return now_; }
  void Post(std::function<void()> function) override { posted_.push_back(std::move(function)); }
  Id At(TimePoint when, std::function<void()> function) override {
    timers_[{when, ++last_}] = std::move(function);
    return last_;
  }
  void Cancel(Id id) override {
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }
  void RunFor(std::chrono::seconds time) {
    const TimePoint end = now_ + time;
    while (true) {
      while (!posted_.empty()) {
        const auto function = std::move(posted_.front());
        posted_.pop_front();
        function();
      }
      if (timers_.empty() || timers_.begin()->first.first > end) break;
      auto timer = timers_.extract(timers_.begin());
      now_ = std::max(now_, timer.key().first);
      posted_.push_back(std::move(timer.mapped()));
    }
    now_ = end;
  }

 private:
  TimePoint now_{};
  Id last_ = 0;
  std::deque<std::function<void()>> posted_;
  std::map<std::pair<TimePoint, Id>, std::function<void()>> timers_;
};

// No server, or one that answers everything with nothing to do.
class Line : public SyncClient {
 public:
  explicit Line(SteppedTimers* timers) : timers_(timers) {}
  void Sync(uint64_t, const v1::SyncRequest&, std::chrono::milliseconds, Done done) override {
    ++calls;
    timers_->After(std::chrono::milliseconds(1), [this, done = std::move(done)] {
      if (answers && std::exchange(gives_up, false)) {
        answers = false;
        done(absl::FailedPreconditionError("no such worker"), v1::SyncResponse());
      } else {
        done(answers ? absl::OkStatus() : absl::UnavailableError("Connection refused"), v1::SyncResponse());
      }
    });
  }
  void Cancel(uint64_t) override {}

  bool answers = false;
  bool gives_up = false;  // the next answer says so, and is the last
  int calls = 0;

 private:
  SteppedTimers* const timers_;
};

// Nothing is assigned here.
class NoTrainers : public Trainers {
 public:
  void Prepare(const v1::Assignment&, std::function<void(absl::StatusOr<Prepared>)>) override {}
  absl::StatusOr<std::unique_ptr<RankRun>> Start(const v1::Assignment&, RankRun::Events) override {
    return absl::UnimplementedError("nothing is assigned");
  }
  void StoreModel(const v1::ModelWanted&, std::function<void(std::string)>) override {}
};

class Captured {
 public:
  Captured() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "captured", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
  }
  ~Captured() { spdlog::set_default_logger(before_); }
  int Count(const std::string& words) const {
    const std::string text = text_.str();
    int count = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;
};

TEST_CASE(
    "Agent: a worker that no server has answered says at times that it waits, not that training goes on",
    "[worker]") {
  const Captured log;
  NoTrainers trainers;
  SteppedTimers timers;
  Line line(&timers);
  AgentOptions options;
  options.identity.name = "w";
  options.identity.host = "n1";
  options.server = "head:7070";
  Agent agent(&timers, &line, &trainers, options);
  agent.Begin([](absl::Status) {});
  timers.RunFor(std::chrono::seconds(60));
  CHECK(line.calls > 20);  // it tries far more often than it logs
  // at 0, 10 and 30 s
  CHECK(log.Count("worker w on n1 waits for the server at head:7070; not registered yet: UNAVAILABLE: "
                  "Connection refused") == 3);
  CHECK(log.Count("training continues") == 0);

  line.answers = true;
  timers.RunFor(std::chrono::seconds(10));
  CHECK(log.Count("registered as worker") == 1);
  line.answers = false;
  timers.RunFor(std::chrono::seconds(60));
  CHECK(log.Count("waits for the server") == 3);
  CHECK(log.Count("training continues") == 1);
}

TEST_CASE("Agent: a worker gives up if no server answers, sooner if none ever has", "[worker]") {
  const bool joins = GENERATE(false, true);
  NoTrainers trainers;
  SteppedTimers timers;
  Line line(&timers);
  line.answers = joins;
  AgentOptions options;
  options.identity.name = "w";
  options.identity.host = "n1";
  options.server = "head:7070";
  options.join_timeout = std::chrono::seconds(60);
  options.offline_timeout = std::chrono::seconds(300);
  options.farewell_timeout = std::chrono::seconds(1);
  Agent agent(&timers, &line, &trainers, options);
  std::optional<absl::Status> left;
  agent.Begin([&left](absl::Status status) { left = std::move(status); });
  timers.RunFor(std::chrono::seconds(59));
  CHECK_FALSE(left.has_value());
  line.answers = false;
  timers.RunFor(std::chrono::seconds(100));
  CHECK(left.has_value() == !joins);
  timers.RunFor(std::chrono::seconds(300));
  REQUIRE(left.has_value());
  CHECK(absl::IsUnavailable(*left));
  if (!joins) {
    CHECK(left->message() ==
          "worker w on n1 has had no answer from the server at head:7070 for 60 s: Connection refused");
  }
}

TEST_CASE("Agent: how long a worker waits for an answer changes as soon as it is registered, or given up",
          "[worker]") {
  NoTrainers trainers;
  SteppedTimers timers;
  Line line(&timers);
  line.answers = true;
  AgentOptions options;
  options.identity.name = "w";
  options.identity.host = "n1";
  options.server = "head:7070";
  options.join_timeout = std::chrono::seconds(600);
  options.offline_timeout = std::chrono::seconds(60);
  options.farewell_timeout = std::chrono::seconds(1);
  bool given_up = false;
  SECTION("registered, it waits for less time than before") {}
  SECTION("registered, it waits for ever; given up, it does not") {
    options.offline_timeout = {};
    options.join_timeout = std::chrono::seconds(60);
    given_up = true;
  }
  Agent agent(&timers, &line, &trainers, options);
  std::optional<absl::Status> left;
  agent.Begin([&left](absl::Status status) { left = std::move(status); });
  timers.RunFor(std::chrono::seconds(10));
  if (given_up) {
    line.answers = false;
    timers.RunFor(std::chrono::seconds(1000));
    REQUIRE_FALSE(left.has_value());
    // The server comes back, says that it has given the worker up, and is away again.
    line.gives_up = line.answers = true;
    for (int second = 0; line.gives_up && second < 100; ++second) timers.RunFor(std::chrono::seconds(1));
  }
  line.answers = false;
  timers.RunFor(std::chrono::seconds(50));
  CHECK_FALSE(left.has_value());
  timers.RunFor(std::chrono::seconds(20));
  REQUIRE(left.has_value());
  CHECK(absl::IsUnavailable(*left));
}

}  // namespace
}  // namespace winnow
