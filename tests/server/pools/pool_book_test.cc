#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "fmt/format.h"
#include "server/engine/worker_names.h"
#include "server/pools/pool_keeper.h"
#include "server/pools/pool_round.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

using EngineState = Allocation::State;

// An engine that gives everything back at once.
class PlainPool : public Pool {
 public:
  absl::Status Cancel(const std::vector<AllocationKey>&) override { return absl::OkStatus(); }
  absl::Status Forget(const AllocationKey&) override { return absl::OkStatus(); }
  std::string Render(const std::vector<AllocationRequest>&) const override { return ""; }
};

PoolSettings SettingsOfFour() {
  PoolSettings settings;
  settings.name = "cpu";
  settings.kind = "FAKE";
  settings.max_nodes = settings.max_queued = 4;
  return settings;
}

// The book of a pool of at most so many nodes, whose engine is played by the test.
class BookPlay {
 public:
  explicit BookPlay(int32_t max_nodes, int32_t slots = 1, PoolBook::MakeToken make_token = nullptr)
      : max_nodes_(max_nodes), slots_(slots), make_token_(std::move(make_token)) {
    Restart();
  }

  // As a server that is started again: only what is in the tables is known.
  void Restart() {
    book_ = std::make_unique<PoolBook>(std::vector{Declared(max_nodes_, slots_)}, "winnow-0123abcd",
                                       make_token_, nullptr);
  }

  // `fails`: the batch of the round is rolled back.
  PoolOrders Round(const std::vector<PoolNews>& news = {}, bool fails = false) {
    absl::StatusOr<PoolOrders> orders = absl::UnknownError("");
    const absl::Status committed = play.Inside([&](Engine& engine) {
      orders = book_->Round(engine, news, failed_);
      if (fails) engine.context().Note(absl::UnavailableError("the disk is full"));
    });
    failed_ = !committed.ok();
    REQUIRE(failed_ == fails);
    REQUIRE(orders.ok());
    return *std::move(orders);
  }

  // The first round of a job of so many trials of a rank, with what it submits.
  std::vector<AllocationRow> Begin(int64_t trials) {
    play.Create(RandomJob(trials));
    return Round().submit;
  }

  // As the engine has taken it.
  static PoolNews Submitted(const AllocationRow& row, const std::string& id) {
    PoolNews news;
    news.pool = row.pool;
    news.submitted = {row.number};
    news.ids = {id};
    return news;
  }

  static PoolNews Listed(const AllocationRow& asked, std::vector<Allocation> known) {
    PoolNews news;
    news.pool = asked.pool;
    news.listed = true;
    news.asked = {asked.number};
    news.allocations = std::move(known);
    return news;
  }

  v1::Allocation Shown() {
    const v1::Pool pool = ShownPool();
    REQUIRE(pool.allocations_size() > 0);
    return pool.allocations(0);
  }

  v1::Pool ShownPool() {
    absl::StatusOr<v1::ListPoolsResponse> pools = absl::UnknownError("");
    REQUIRE(play.Inside([&](Engine& engine) { pools = book_->List(engine); }).ok());
    REQUIRE(pools.ok());
    return pools->pools(0);
  }

  std::string StateReason() { return ShownPool().state_reason(); }

  Play play{3'600'000'000};

 private:
  static DeclaredPool Declared(int32_t max_nodes, int32_t slots) {
    DeclaredPool pool{SettingsOfFour(), nullptr};
    pool.settings.max_nodes = max_nodes;
    pool.settings.worker.slots = slots;
    return pool;
  }

  const int32_t max_nodes_, slots_;
  const PoolBook::MakeToken make_token_;
  std::unique_ptr<PoolBook> book_;
  bool failed_ = false;
};

bool HasNumber(const std::vector<AllocationRow>& rows, int64_t number) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const AllocationRow& row) { return row.number == number; });
}

TEST_CASE("Pool book: an allocation that has ended and that its engine has again is ended at once",
          "[server]") {
  BookPlay at(1);
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  const PoolOrders ended =
      at.Round({BookPlay::Listed(row, {{row.name, "5", EngineState::kEnded, "CANCELLED", {}}})});
  CHECK(HasNumber(ended.forget, row.number));
  CHECK(HasNumber(ended.open, row.number));  // it is asked for a while longer

  const PoolNews back = BookPlay::Listed(row, {{row.name, "5", EngineState::kQueued, "BeginTime", {}}});
  const PoolOrders again = at.Round({back});
  REQUIRE(HasNumber(again.cancel, row.number));
  CHECK_FALSE(HasNumber(at.Round({back}).cancel, row.number));  // the engine was told
  at.play.Tick(5'000'000);
  CHECK(HasNumber(at.Round({back}).cancel, row.number));

  const PoolNews gone = BookPlay::Listed(row, {});
  CHECK(HasNumber(at.Round({gone}).open, row.number));
  at.play.Tick(61'000'000);
  CHECK(HasNumber(at.Round().open, row.number));  // no answer of the engine says that it is gone
  CHECK_FALSE(HasNumber(at.Round({gone}).open, row.number));
}

TEST_CASE("Pool book: a submission without an answer is waited for from when it was tried", "[server]") {
  BookPlay at(1);
  const AllocationRow row = at.Begin(1).at(0);
  at.play.Tick(60'000'000);  // its engine was busy
  PoolNews unanswered = BookPlay::Submitted(row, "");
  unanswered.ids.clear();
  unanswered.status = absl::UnavailableError("no answer");
  at.Round({unanswered});
  const PoolNews without = BookPlay::Listed(row, {});
  for (int i = 0; i < 3; ++i) at.Round({without});
  CHECK(at.Shown().state() == v1::Allocation::PLANNED);
  at.play.Tick(11'000'000);
  CHECK(HasNumber(at.Round({without}).forget, row.number));
}

TEST_CASE("Pool book: the token of an allocation is listed for 30 days after its end, and then removed",
          "[server]") {
  BookPlay at(1, 1, [made = 0](const std::string& name) mutable -> absl::StatusOr<PoolToken> {
    PoolToken token;
    token.row = {fmt::format("{:08x}", ++made), name, "worker", std::string(32, 'h')};
    return token;
  });
  // When the first one was revoked; absent: it is not listed.
  const auto revoke_us = [&at] {
    std::optional<int64_t> revoked;
    REQUIRE(at.play
                .Inside([&](Engine& engine) {
                  const auto tokens = engine.context().store.tokens.List();
                  for (const TokenRow& token : *tokens) {
                    if (token.id == "00000001") revoked = token.revoke_us;
                  }
                })
                .ok());
    return revoked;
  };
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  at.play.Tick(31 * 86'400'000'000);
  at.Round();
  CHECK(revoke_us() == 0);
  at.Round({BookPlay::Listed(row, {{row.name, "5", EngineState::kEnded, "CANCELLED", {}}})});
  at.play.Tick(29 * 86'400'000'000);
  at.Round();
  CHECK(revoke_us() > 0);
  at.play.Tick(2 * 86'400'000'000);
  at.Round();
  CHECK_FALSE(revoke_us().has_value());
}

TEST_CASE("Pool book: a pool says why its engine does not end what is given back", "[server]") {
  BookPlay at(1);
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  Allocation held{row.name, "5", EngineState::kQueued, "launch failed requeued held", {}};
  held.held = true;
  REQUIRE(HasNumber(at.Round({BookPlay::Listed(row, {held})}).cancel, row.number));
  PoolNews refused;
  refused.pool = row.pool;
  refused.cancelled = true;
  refused.status = absl::InvalidArgumentError("no such command: qdle");
  at.Round({refused});
  CHECK_THAT(at.StateReason(), Catch::Contains("does not end what is given back: no such command: qdle."));
  SECTION("until it does") {
    refused.status = absl::OkStatus();
    at.Round({refused});
  }
  SECTION("until it has ended by itself") {
    at.Round({BookPlay::Listed(row, {{row.name, "5", EngineState::kEnded, "", {}}})});
  }
  CHECK_THAT(at.StateReason(), !Catch::Contains("does not end"));
}

TEST_CASE("Pool book: an allocation that its engine holds is given back, and has failed", "[server]") {
  BookPlay at(1);
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  Allocation held{row.name, "5", EngineState::kQueued, "launch failed requeued held", {}};
  held.held = true;
  const PoolOrders orders = at.Round({BookPlay::Listed(row, {held})});
  REQUIRE(HasNumber(orders.cancel, row.number));
  CHECK_THAT(at.Shown().reason(), Catch::Contains("launch failed requeued held"));
  const PoolOrders ended = at.Round({BookPlay::Listed(row, {})});
  CHECK(ended.submit.empty());  // it is absent once only
  const PoolOrders next = at.Round({BookPlay::Listed(row, {})});
  REQUIRE(HasNumber(next.forget, row.number));
  CHECK(next.forget.at(0).failed);
  CHECK(next.submit.size() == 1);
}

TEST_CASE(
    "Pool book: allocations that end together without a worker pause the pool once, and a server that is "
    "started again tries one at once",
    "[server]") {
  BookPlay at(4);
  const std::vector<AllocationRow> rows = at.Begin(4);
  REQUIRE(rows.size() == 4);
  PoolNews submitted, gone;
  for (const AllocationRow& row : rows) {
    const PoolNews one = BookPlay::Submitted(row, std::to_string(row.number));
    submitted.pool = one.pool;
    submitted.submitted.push_back(row.number);
    submitted.ids.push_back(one.ids.at(0));
    gone = BookPlay::Listed(row, {});
  }
  gone.asked.insert(submitted.submitted.begin(), submitted.submitted.end());
  at.Round({submitted});
  at.Round({gone});
  const PoolOrders orders = at.Round({gone});  // absent twice
  CHECK(orders.forget.size() == 4);
  CHECK(orders.submit.empty());
  CHECK_THAT(at.StateReason(), Catch::StartsWith("It pauses for 300 s, because 4 allocations in a row"));
  const int64_t paused_until = at.ShownPool().paused_until().seconds();
  CHECK(paused_until > 300);

  at.play.Tick(1'000'000);
  CHECK(at.Round().submit.empty());
  CHECK(at.ShownPool().paused_until().seconds() == paused_until);
  at.Restart();
  CHECK(at.Round().submit.size() == 1);
  CHECK(at.Round().submit.empty());
  CHECK_THAT(at.StateReason(), Catch::StartsWith("One allocation at a time, until one brings a worker"));
  CHECK(!at.ShownPool().has_paused_until());
}

TEST_CASE("Pool book: the id is told with the submission's answer, and that it runs when a worker has come",
          "[server]") {
  BookPlay at(1);
  const AllocationRow row = at.Begin(1).at(0);
  CHECK(at.Shown().state() == v1::Allocation::PLANNED);
  at.Round({BookPlay::Submitted(row, "5")});
  CHECK(at.Shown().id() == "5");
  CHECK(at.Shown().state() == v1::Allocation::QUEUED);
  FakeWorker worker(at.play, row.name + ".0", 1);
  worker.labels = {{"pool", "cpu"}};
  REQUIRE(worker.Tell().ok());
  CHECK(at.Shown().state() == v1::Allocation::RUNNING);
  CHECK(at.Shown().workers() == 1);
  at.Round();
  CHECK(at.Shown().state() == v1::Allocation::RUNNING);
  CHECK(at.Shown().has_start_time());
}

TEST_CASE("Pool book: pods are workers of their allocation, those of Indexed Jobs too, and of no other",
          "[server]") {
  const std::string gpu = "winnow-0123abcd-gpu";
  for (const char* rest : {".0", ".12", "-4mrc9", "-0-4mrc9", "-12-24567", "-24567"})
    CHECK(IsWorkerOf(gpu + "-2", gpu + "-2" + rest));
  for (const char* rest : {"", ".", "-", "-2", "-20.0", "-20-4mrc9", "-20-0-4mrc9", "-2.0.1", "-2-0-4mrc9-x",
                           "-2-x-4mrc9", "-2--4mrc9", "-2-0-", "-2.0-4mrc9", "-2-3.0", "-2-3-0-4mrc9"})
    CHECK_FALSE(IsWorkerOf(gpu + "-2", gpu + rest));

  BookPlay at(2);
  const AllocationRow row = at.Begin(2).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  const PoolNews runs = BookPlay::Listed(row, {{row.name, "5", EngineState::kRunning, "", {"n1"}}});
  FakeWorker pod(at.play, row.name + "-0-4mrc9", 1);
  pod.labels = {{"pool", "cpu"}};
  // One of the pool "cpu-N", where N is the allocation's number, without an index.
  FakeWorker other(at.play, row.name + "-3-4mrc9", 1);
  other.labels = {{"pool", "cpu-" + std::to_string(row.number)}};
  other.StartAnew();  // ids begin with the names' first characters
  REQUIRE(pod.Tell().ok());
  REQUIRE(other.Tell().ok());
  at.Round({runs});
  CHECK(at.ShownPool().workers() == 1);
  const auto shown = at.ShownPool();
  const auto found =
      std::find_if(shown.allocations().begin(), shown.allocations().end(),
                   [&](const v1::Allocation& allocation) { return allocation.name() == row.name; });
  REQUIRE(found != shown.allocations().end());
  CHECK(found->workers() == 1);
}

TEST_CASE("Pool book: nodes that are to come reach workers of the pool that are on loopback", "[server]") {
  BookPlay at(3);
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  v1::TuningJobSpec gang = RandomJob(1);
  gang.mutable_cluster()->set_nodes(3);
  at.play.Create(gang);
  const std::vector<AllocationRow> more = at.Round().submit;
  REQUIRE(more.size() == 1);
  CHECK(more[0].nodes == 2);

  FakeWorker worker(at.play, row.name + ".0", 1);
  worker.labels = {{"pool", "cpu"}};
  worker.loopback_of = "this machine";
  PlayToEnd(at.play, "job", {&worker});
  CHECK(at.Round().submit.empty());
  CHECK(at.StateReason().empty());
}

TEST_CASE(
    "Pool book: a worker that had less than was declared and is gone is forgotten after an hour, and at a "
    "start",
    "[server]") {
  constexpr int64_t kHour = 3'600'000'000;
  BookPlay at(1, 2);
  const AllocationRow row = at.Begin(1).at(0);
  at.Round({BookPlay::Submitted(row, "5")});
  FakeWorker worker(at.play, row.name + ".0", 1);
  worker.labels = {{"pool", "cpu"}};
  PlayToEnd(at.play, "job", {&worker});
  worker.leaving = true;
  REQUIRE(worker.Tell().ok());
  at.Round({BookPlay::Listed(row, {{row.name, "5", EngineState::kEnded, "", {}}})});
  v1::TuningJobSpec gang = RandomJob(1);
  gang.mutable_cluster()->set_nodes(2);
  at.play.Create(gang);
  CHECK(at.Round().submit.empty());
  SECTION("after an hour") {
    at.play.Tick(2 * kHour);
    CHECK(at.Round().submit.size() == 1);
  }
  SECTION("at a start") {
    at.play.Tick(1'000'000);
    at.Restart();
    CHECK(at.Round().submit.size() == 1);
  }
}

TEST_CASE("Pool book: while nothing can be recorded, only the newest list of each pool is kept", "[server]") {
  PoolNews list, submitted;
  list.pool = submitted.pool = "cpu";
  list.listed = true;
  submitted.submitted = {1};
  std::vector<PoolNews> news = {list, submitted};
  news[0].asked = {1};
  PoolNews other = list;
  other.pool = "gpu";
  AddList(other, news);
  list.asked = {1, 2};
  AddList(list, news);
  REQUIRE(news.size() == 3);
  CHECK(news[0].submitted == std::vector<int64_t>{1});
  CHECK(news[1].pool == "gpu");
  CHECK(news[2].asked == std::set<int64_t>{1, 2});
}

TEST_CASE("Pool book: a round that was not recorded is held anew", "[server]") {
  BookPlay at(2);
  at.play.Create(RandomJob(2));
  CHECK(at.Round({}, true).submit.size() == 2);
  const std::vector<AllocationRow> rows = at.Round().submit;
  REQUIRE(rows.size() == 2);
  const PoolNews ended = BookPlay::Listed(rows[0], {{rows[0].name, "5", EngineState::kEnded, "FAILED", {}}});
  CHECK(HasNumber(at.Round({ended}, true).forget, rows[0].number));
  const PoolNews runs = BookPlay::Listed(rows[0], {{rows[0].name, "5", EngineState::kRunning, "", {"n1"}}});
  const PoolOrders orders = at.Round({runs});
  CHECK(HasNumber(orders.open, rows[0].number));
  CHECK(orders.cancel.empty());
}

// An engine that takes two allocations at most, and that arrays may be sent to.
class LimitedPool final : public PlainPool {
 public:
  int most_in_batch() const override { return 4; }
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override {
    const std::lock_guard lock(mutex_);
    sizes_.push_back(batch.size());
    if (sizes_.size() == kCalls) enough_.set_value();
    if (taken_.size() + batch.size() > 2) return absl::ResourceExhaustedError("two jobs at most");
    std::vector<std::string> ids;
    for (const AllocationRequest& request : batch) {
      taken_.push_back({request.name, request.name, EngineState::kQueued, "", {}});
      ids.push_back(request.name);
    }
    return ids;
  }
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>&) override {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

  // The sizes of the first submissions.
  std::vector<size_t> AwaitSizes() {
    REQUIRE(enough_.get_future().wait_for(std::chrono::minutes(2)) == std::future_status::ready);
    const std::lock_guard lock(mutex_);
    return {sizes_.begin(), sizes_.begin() + kCalls};
  }

 private:
  static constexpr size_t kCalls = 4;
  std::mutex mutex_;
  std::vector<size_t> sizes_;
  std::vector<Allocation> taken_;
  std::promise<void> enough_;
};

TEST_CASE("Pool keeper: where an engine's limit has no room for all, it gets as many as it takes",
          "[server]") {
  Play play(3'600'000'000);
  play.Create(RandomJob(10));
  const auto engine = std::make_shared<LimitedPool>();
  PoolKeeperOptions options;
  options.pools = {{SettingsOfFour(), engine}};
  options.prefix = "winnow-0123abcd";
  PoolKeeper keeper(play.coordinator(), options);
  keeper.Start("127.0.0.1:1");
  CHECK(engine->AwaitSizes() == std::vector<size_t>{4, 2, 2, 1});
  keeper.Stop();
}

// An engine whose List hangs until Stop is called.
class HangingPool final : public PlainPool {
 public:
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override {
    return std::vector<std::string>(batch.size(), "5");
  }
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>&) override {
    if (lists_++ == 0) asked_.set_value();
    stop_.wait();
    return absl::UnavailableError("it was ended");
  }
  void Stop() override {
    if (!told_.exchange(true)) stopped_.set_value();
  }

  int lists() const { return lists_; }
  bool AwaitList() {
    return asked_.get_future().wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  }

 private:
  std::promise<void> asked_, stopped_;
  const std::shared_future<void> stop_ = stopped_.get_future().share();
  std::atomic<bool> told_ = false;
  std::atomic<int> lists_ = 0;
};

TEST_CASE("Pool keeper: a stop waits for no engine that hangs, and asks no other one", "[server]") {
  Play play(3'600'000'000);
  play.Create(RandomJob(10));
  const auto one = std::make_shared<HangingPool>(), other = std::make_shared<HangingPool>();
  PoolKeeperOptions options;
  options.pools = {{SettingsOfFour(), one}, {SettingsOfFour(), other}};
  options.pools[1].settings.name = "gpu";
  options.prefix = "winnow-0123abcd";
  options.tick = std::chrono::milliseconds(1);
  PoolKeeper keeper(play.coordinator(), options);
  keeper.Start("127.0.0.1:1");
  REQUIRE(one->AwaitList());
  REQUIRE(other->AwaitList());
  keeper.Stop();
  CHECK(one->lists() == 1);
  CHECK(other->lists() == 1);
}

// An engine whose first List waits until GoOn is called. Each List says that there are no allocations.
class SlowPool final : public PlainPool {
 public:
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override {
    submitted_ += static_cast<int>(batch.size());
    return std::vector<std::string>(batch.size(), "7");
  }
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>&) override {
    const int list = lists_++;
    if (list == 0) {
      asked_.set_value();
      go_on_.wait();
    }
    if (list == 1) again_.set_value();
    return std::vector<Allocation>();
  }

  int submitted() const { return submitted_; }
  void GoOn() { told_.set_value(); }
  std::future<void> FirstList() { return asked_.get_future(); }
  std::future<void> SecondList() { return again_.get_future(); }

 private:
  std::promise<void> asked_, again_, told_;
  const std::shared_future<void> go_on_ = told_.get_future().share();
  std::atomic<int> lists_ = 0, submitted_ = 0;
};

// An engine that takes what it is asked for.
class TakingPool final : public PlainPool {
 public:
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override {
    if (!any_.exchange(true)) submitted_.set_value();
    return std::vector<std::string>(batch.size(), "6");
  }
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override {
    std::vector<Allocation> known;
    for (const AllocationKey& key : allocations)
      known.push_back({key.name, "6", EngineState::kQueued, "", {}});
    return known;
  }

  bool AwaitSubmit() {
    return submitted_.get_future().wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  }

 private:
  std::promise<void> submitted_;
  std::atomic<bool> any_ = false;
};

TEST_CASE("Pool keeper: an engine that hangs holds up no other pool", "[server]") {
  Play play(3'600'000'000);
  const auto job_of = [&play](const char* pool) {
    v1::TuningJobSpec spec = RandomJob(1);
    spec.mutable_cluster()->add_pools(pool);
    play.Create(spec);
  };
  job_of("cpu");
  const auto hanging = std::make_shared<HangingPool>();
  const auto other = std::make_shared<TakingPool>();
  PoolKeeperOptions options;
  options.pools = {{SettingsOfFour(), hanging}, {SettingsOfFour(), other}};
  options.pools[1].settings.name = "gpu";
  options.prefix = "winnow-0123abcd";
  options.tick = std::chrono::milliseconds(1);
  PoolKeeper keeper(play.coordinator(), options);
  keeper.Start("127.0.0.1:1");
  REQUIRE(hanging->AwaitList());
  job_of("gpu");
  CHECK(other->AwaitSubmit());
  keeper.Stop();
  CHECK(hanging->lists() == 1);
}

TEST_CASE("Pool keeper: what is cancelled while its engine hangs is not submitted", "[server]") {
  Play play(3'600'000'000);
  play.Create(RandomJob(1));
  const auto engine = std::make_shared<SlowPool>();
  std::future<void> first = engine->FirstList(), second = engine->SecondList();
  PoolKeeperOptions options;
  options.pools = {{SettingsOfFour(), engine}};
  options.prefix = "winnow-0123abcd";
  options.tick = std::chrono::milliseconds(1);
  PoolKeeper keeper(play.coordinator(), options);
  keeper.Start("127.0.0.1:1");
  first.wait();
  const auto await = [&play](const std::function<bool(const std::vector<AllocationRow>&)>& is_so) {
    for (bool found = false; !found;) {
      play.Tick(1'000'000);  // what is not needed is given back after a while
      const absl::Status read = play.Inside([&](Engine& in) {
        AllocationTable table(in.context().store.database());
        found = is_so(*table.Open());
      });
      REQUIRE(read.ok());
    }
  };
  const std::string id = play.Create(RandomJob(3));
  await([](const auto& rows) { return rows.size() == 4; });
  REQUIRE(play.Inside([&](Engine& in) { REQUIRE(in.StopJob(id, Requester{}).ok()); }).ok());
  await([](const auto& rows) {
    return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return !row.cancel.empty(); }) == 3;
  });
  engine->GoOn();
  second.wait();
  keeper.Stop();
  CHECK(engine->submitted() == 1);
}

}  // namespace
}  // namespace winnow
