// What is recorded for webhooks, and in which order it is given out.

#include "server/webhooks/outbox.h"

#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/server/engine/project_jobs.h"

namespace winnow {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

DeclaredWebhook WebhookNamed(const std::string& name) {
  DeclaredWebhook webhook;
  webhook.name = name;
  webhook.url = "http://127.0.0.1:9";
  webhook.secret = "0123456789abcdef";
  webhook.events = {v1::Event::BEST_IMPROVED,      v1::Event::JOB_ENDED,   v1::Event::JOB_FAILING_EARLY,
                    v1::Event::WORKER_QUARANTINED, v1::Event::POOL_BROKEN, v1::Event::QUOTA_NEAR};
  return webhook;
}

struct OutboxPlay : Play {
  explicit OutboxPlay(DeclaredWebhook the_webhook = WebhookNamed("chat")) : webhook(std::move(the_webhook)) {
    tell = [this](Context& context, const v1::Event& event) { outbox->Tell(context, event); };
    StartAnew();
  }
  // As after a kill -9.
  void StartAnew(int64_t down_us = 0) {
    outbox.reset();  // its statements are those of the database
    Restart(down_us);
    outbox.emplace(std::vector<DeclaredWebhook>{webhook});
  }
  void Tell(v1::Event::Kind kind, const std::string& job, const std::string& text) {
    v1::Event event;
    event.set_kind(kind);
    event.set_job_id(job);
    event.set_text(text);
    REQUIRE(Inside([&](Engine& engine) { engine.context().Tell(event); }).ok());
  }
  WebhookOutbox::Next Take() {
    absl::StatusOr<WebhookOutbox::Next> next;
    REQUIRE(Inside([&](Engine& engine) { next = outbox->Take(engine.context(), webhook); }).ok());
    INFO(next.status().ToString());
    REQUIRE(next.ok());
    return *std::move(next);
  }
  // Its text; "" if nothing is due.
  std::string TakeText() {
    taken = Take().row;
    return taken ? EventOfRow(*taken)->text() : "";
  }
  void Sent(bool delivered) {
    absl::Status status;
    REQUIRE(Inside([&](Engine& engine) {
              status = outbox->Sent(engine.context(), webhook, *taken, delivered, "");
            }).ok());
    REQUIRE(status.ok());
  }
  std::vector<v1::Event> All() {
    std::vector<v1::Event> events;
    while ((taken = Take().row)) {
      events.push_back(*EventOfRow(*taken));
      Sent(true);
    }
    return events;
  }

  DeclaredWebhook webhook;
  std::optional<WebhookOutbox> outbox;
  std::optional<DeliveryRow> taken;
};

TEST_CASE("Outbox: a job's events wait for one that is not delivered, those of other jobs do not",
          "[server]") {
  OutboxPlay play;
  play.Tell(v1::Event::JOB_FAILING_EARLY, "a", "a1");
  play.Tell(v1::Event::JOB_ENDED, "a", "a2");
  play.Tell(v1::Event::JOB_ENDED, "b", "b1");
  CHECK(play.TakeText() == "a1");
  play.Sent(false);
  CHECK(play.TakeText() == "b1");
  play.Sent(true);
  CHECK(play.Take().wait_us == kSecondUs);
  play.Tick(kSecondUs);
  CHECK(play.TakeText() == "a1");
  play.Sent(false);
  CHECK(play.Take().wait_us == 2 * kSecondUs);  // twice as long
  play.StartAnew(2 * kSecondUs);
  CHECK(play.TakeText() == "a1");
  play.StartAnew();  // it was being sent
  CHECK(play.TakeText() == "a1");
  play.Sent(true);
  CHECK(play.TakeText() == "a2");
  play.Sent(true);
  CHECK(play.Take().wait_us == -1);
}

TEST_CASE("Outbox: what waits is tried at once when a server starts", "[server]") {
  OutboxPlay play;
  play.Tell(v1::Event::JOB_ENDED, "a", "a1");
  for (int i = 0; i < 9; ++i) {
    REQUIRE(play.TakeText() == "a1");
    play.Sent(false);
    if (i < 8) play.Tick(play.Take().wait_us);
  }
  CHECK(play.Take().wait_us == 256 * kSecondUs);
  play.StartAnew();
  absl::Status begun;
  REQUIRE(play.Inside([&](Engine& engine) { begun = play.outbox->Begin(engine.context()); }).ok());
  CHECK(begun.ok());
  CHECK(play.TakeText() == "a1");
}

TEST_CASE("Outbox: a test for a webhook that is not there names those that are", "[server]") {
  OutboxPlay play;
  const auto told = [&play](const std::string& name) {
    absl::StatusOr<v1::Delivery> test;
    REQUIRE(play.Inside([&](Engine& engine) { test = play.outbox->Test(engine.context(), name); }).ok());
    return std::string(test.status().message());
  };
  CHECK(told("pager") == "there is no webhook \"pager\"; expected chat");
  play.outbox.reset();
  play.outbox.emplace(std::vector<DeclaredWebhook>());
  CHECK(told("pager") == "there is no webhook \"pager\"; this server has none");
}

TEST_CASE("Outbox: events of no job, such as a test, wait for no other", "[server]") {
  OutboxPlay play;
  play.Tell(v1::Event::POOL_BROKEN, "", "pool");
  CHECK(play.TakeText() == "pool");
  play.Sent(false);
  v1::Delivery test;
  REQUIRE(play.Inside([&](Engine& engine) { test = *play.outbox->Test(engine.context(), "chat"); }).ok());
  const auto next = play.Take();
  REQUIRE(next.row.has_value());
  CHECK(next.row->number == test.number());
}

TEST_CASE("Outbox: what nobody takes is given up, and the events after it are told", "[server]") {
  DeclaredWebhook webhook = WebhookNamed("chat");
  webhook.give_up_after = std::chrono::seconds(100);
  OutboxPlay play(webhook);
  play.Tell(v1::Event::JOB_FAILING_EARLY, "a", "a1");
  play.Tell(v1::Event::JOB_ENDED, "a", "a2");
  int attempts = 0;
  while (play.TakeText() == "a1") {
    ++attempts;
    play.Sent(false);
    play.Tick(std::max<int64_t>(1, play.Take().wait_us));
  }
  CHECK(EventOfRow(*play.taken)->text() == "a2");
  CHECK(attempts == 8);  // after 0, 1, 3, 7, 15, 31, 63 and 127 s
}

TEST_CASE("Outbox: a batch that is rolled back tells nothing", "[server]") {
  OutboxPlay play;
  v1::Event event;
  event.set_kind(v1::Event::JOB_ENDED);
  event.set_job_id("a");
  CHECK_FALSE(play.Inside([&](Engine& engine) {
                    engine.context().Tell(event);
                    engine.context().Note(absl::ResourceExhaustedError("full"));
                  })
                  .ok());
  CHECK(play.All().empty());
}

TEST_CASE("Outbox: a job tells of each better value, the newest alone if none was taken, and of its end",
          "[server]") {
  OutboxPlay play;
  const std::string id = play.Create(RandomJob(6));
  FakeWorker worker(play, "w", 1);
  std::vector<v1::Event> events;
  const v1::TuningJob job = PlayToEnd(play, id, {&worker}, [&](int) {
    for (v1::Event& event : play.All()) events.push_back(std::move(event));
  });
  for (v1::Event& event : play.All()) events.push_back(std::move(event));
  REQUIRE(events.size() >= 2);
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    CHECK(events[i].kind() == v1::Event::BEST_IMPROVED);
    CHECK(events[i].job_id() == id);
    CHECK(events[i].metric() == "loss");
    if (i > 0) CHECK(events[i].value() < events[i - 1].value());
  }
  CHECK(events.back().kind() == v1::Event::JOB_ENDED);
  CHECK(events.back().state() == "completed");
  CHECK(events.back().trial() == job.best().trial());
  CHECK(events[events.size() - 2].value() == job.best().objective());

  const std::string other = play.Create(RandomJob(6));
  PlayToEnd(play, other, {&worker});
  const std::vector<v1::Event> late = play.All();
  REQUIRE(late.size() == 2);
  CHECK(late[0].value() == play.Describe(other).best().objective());
  CHECK(late[1].kind() == v1::Event::JOB_ENDED);
}

TEST_CASE("Outbox: a worker that is quarantined is told", "[server]") {
  OutboxPlay play;
  REQUIRE(play.Inside([](Engine& engine) {
                for (int i = 0; i < 3; ++i)
                  engine.workers().marks().NoteTrouble("w", WorkerMarks::Trouble::kLost, "no sign of life");
              })
              .ok());
  const std::vector<v1::Event> events = play.All();
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind() == v1::Event::WORKER_QUARANTINED);
  CHECK(events[0].worker() == "w");
  CHECK_THAT(events[0].text(), Catch::Contains("no sign of life"));
}

TEST_CASE("Outbox: that most of a quota is used is told once a month, also by the next server", "[server]") {
  OutboxPlay play;
  SetQuota(play, {"vision", "", {.node_hours = 0.1}});
  FakeWorker worker(play, "one", 1);
  CreateIn(play, "vision", "ana", RandomJob(1, 1000));
  REQUIRE(worker.Tell().ok());
  const auto work = [&](int64_t seconds) {
    for (int64_t worked = 0; worked < seconds; worked += 10) {
      play.Tick(10 * kSecondUs);
      REQUIRE(worker.Tell().ok());
    }
  };
  work(280);
  CHECK(play.All().empty());
  work(10);
  const std::vector<v1::Event> events = play.All();
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind() == v1::Event::QUOTA_NEAR);
  CHECK(events[0].project() == "vision");
  CHECK(events[0].person() == "");
  CHECK(events[0].text() == "Project vision has used 0.0806 of its 0.1 node-hours of November 2023.");
  play.StartAnew();
  REQUIRE(worker.Tell().ok());
  CHECK(play.All().empty());
}

}  // namespace
}  // namespace winnow
