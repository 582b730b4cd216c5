#include "worker/agent_state.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using v1::RunningAssignment;
using TimePoint = AgentState::TimePoint;

const TimePoint kStart{std::chrono::hours(1)};
const absl::Status kUnavailable = absl::UnavailableError("gone");

SyncLimits Small() {
  SyncLimits limits;
  limits.max_reports = 2;
  limits.max_log_bytes = 8;
  limits.max_chunk_bytes = 8;
  return limits;
}

// A state with its clock, and short words for what a test does.
struct Fixture {
  explicit Fixture(const SyncLimits& limits = {})
      : state({"worker-a", "host", 2, "storage", "1", 29500}, "id-1", limits) {}

  // The next call; fails the test if there is none.
  AgentState::Call Next() {
    auto call = state.Next(now);
    REQUIRE(call.has_value());
    return *call;
  }
  bool Quiet() { return !state.Next(now).has_value(); }
  AgentState::Orders Answer(const AgentState::Call& call, const std::vector<std::string>& wanted) {
    v1::SyncResponse response;
    for (const std::string& id : wanted) response.add_assignments()->set_id(id);
    return state.Answered(call.number, response, now);
  }
  void Report(const std::string& id, int64_t resource) {
    v1::Report report;
    report.set_assignment_id(id);
    report.set_resource(resource);
    state.AddReport(report);
  }
  void Log(const std::string& id, int64_t offset, const std::string& text) {
    state.AddLog(id, v1::GetLogsRequest::STDOUT, offset, text, false, now);
  }
  void End(const std::string& id) {
    v1::Outcome outcome;
    outcome.set_kind(v1::Outcome::FINISHED);
    state.Ended(id, outcome);
  }
  // Registered, with these assignments known to the server as running, and a poll in flight.
  AgentState::Call Run(const std::vector<std::string>& ids) {
    Answer(Next(), ids);
    return Next();
  }

  AgentState state;
  TimePoint now = kStart;
};

// "a:RUNNING b:ENDED"
std::string Said(const AgentState::Call& call) {
  std::string said;
  for (const RunningAssignment& running : call.request.running()) {
    said += (said.empty() ? "" : " ") + running.assignment_id() + ":" +
            RunningAssignment::State_Name(running.state());
  }
  return said;
}

std::vector<int64_t> Resources(const AgentState::Call& call) {
  std::vector<int64_t> resources;
  for (const v1::Report& report : call.request.reports()) resources.push_back(report.resource());
  return resources;
}

int64_t HoldSeconds(const AgentState::Call& call) { return call.request.hold().seconds(); }

}  // namespace

TEST_CASE("AgentState: registers first, then leaves a poll with the server", "[worker]") {
  Fixture f;
  const auto hello = f.Next();
  CHECK(hello.request.worker_id() == "id-1");
  CHECK(hello.request.name() == "worker-a");
  CHECK(hello.request.slots() == 2);
  CHECK(HoldSeconds(hello) == 0);
  CHECK(f.Quiet());
  f.Answer(hello, {});
  CHECK(HoldSeconds(f.Next()) == 20);
  CHECK(f.Quiet());
}

TEST_CASE("AgentState: each call says how long the worker will stay, if it knows", "[worker]") {
  Fixture f;
  CHECK_FALSE(f.Next().request.has_remaining_life());
  WorkerIdentity identity{"worker-a", "host", 2, "storage", "1", 29500};
  identity.cost_per_hour = 2.5;
  identity.end = f.now + std::chrono::seconds(90);
  AgentState state(identity, "id-1");
  const auto first = state.Next(f.now);
  CHECK(first->request.remaining_life().seconds() == 90);
  CHECK(first->request.cost_per_hour() == 2.5);
  state.Answered(first->number, {}, f.now);
  CHECK(state.Next(f.now + std::chrono::seconds(30))->request.remaining_life().seconds() == 60);
}

TEST_CASE("AgentState: what is prepared starts when it comes without the word to wait", "[worker]") {
  Fixture f;
  v1::SyncResponse response;
  v1::Assignment& wanted = *response.add_assignments();
  wanted.set_id("a");
  wanted.set_await_start(true);
  const auto poll = f.Run({});
  CHECK(f.state.Answered(poll.number, response, f.now).prepare.size() == 1);
  f.state.Prepared("a", 29501);
  auto say = f.Next();
  CHECK(Said(say) == "a:PREPARED");
  CHECK(say.request.running(0).rendezvous_port() == 29501);
  CHECK(f.state.Answered(say.number, response, f.now).start.empty());
  wanted.set_await_start(false);
  const auto orders = f.state.Answered(f.Next().number, response, f.now);
  CHECK(orders.prepare.empty());
  REQUIRE(orders.start.size() == 1);
  CHECK(Said(f.Next()) == "a:RUNNING");
}

TEST_CASE("AgentState: what is prepared is ended when it is no longer needed", "[worker]") {
  Fixture f;
  v1::SyncResponse response;
  response.add_assignments()->set_id("a");
  response.mutable_assignments(0)->set_await_start(true);
  f.state.Answered(f.Run({}).number, response, f.now);
  f.state.Prepared("a", 0);
  const auto orders = f.Answer(f.Next(), {});
  CHECK(orders.stop == std::vector<std::string>{"a"});
  CHECK(Said(f.Next()) == "a:STOPPING");
}

TEST_CASE("AgentState: starts what is wanted, once, and the next poll says so", "[worker]") {
  Fixture f;
  const auto poll = f.Run({});
  const auto orders = f.Answer(poll, {"a", "b"});
  REQUIRE(orders.prepare.size() == 2);
  CHECK(orders.prepare[0].id() == "a");
  const auto next = f.Next();
  CHECK(Said(next) == "a:RUNNING b:RUNNING");
  CHECK(HoldSeconds(next) == 20);
  CHECK(f.Quiet());
  CHECK(f.Answer(next, {"a", "b"}).prepare.empty());
  CHECK(f.state.Runs("a"));
}

TEST_CASE("AgentState: stops what is no longer wanted, once", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a", "b"});
  CHECK(f.Answer(poll, {"b"}).stop == std::vector<std::string>{"a"});
  const auto say = f.Next();
  CHECK(Said(say) == "a:STOPPING b:RUNNING");
  CHECK(f.Answer(say, {"b"}).stop.empty());
  CHECK(f.state.Runs("a"));  // until its processes are gone
}

TEST_CASE("AgentState: an answer to a call that did not name an assignment cannot stop it", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.Report("a", 1);
  const auto say = f.Next();
  CHECK(f.Answer(poll, {"a", "b"}).prepare.size() == 1);
  CHECK(f.Answer(say, {"a"}).stop.empty());  // decided before "b" was
  CHECK(f.state.Runs("b"));
}

TEST_CASE("AgentState: something new is said at once beside the poll, which is then given up", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.Report("a", 1);
  const auto say = f.Next();
  CHECK(Resources(say) == std::vector<int64_t>{1});
  f.Answer(say, {"a"});
  CHECK(f.state.TakeObsolete() == std::vector<uint64_t>{poll.number});
  CHECK(HoldSeconds(f.Next()) == 20);
}

TEST_CASE("AgentState: without a free slot, what is said soon after an answer needs no poll before it",
          "[worker]") {
  SyncLimits limits;
  limits.poll_pause = milliseconds(5);
  Fixture f(limits);
  f.Answer(f.Next(), {"a", "b"});
  CHECK(f.state.NextTime() == f.now + milliseconds(5));
  CHECK(f.Quiet());
  f.Report("a", 1);
  const auto say = f.Next();
  CHECK(HoldSeconds(say) == 0);
  f.Answer(say, {"a", "b"});
  CHECK(f.Quiet());
  f.now += milliseconds(5);
  CHECK(HoldSeconds(f.Next()) == 20);
  f.End("a");
  f.Answer(f.Next(), {"b"});
  CHECK(HoldSeconds(f.Next()) == 20);  // a slot is free
}

TEST_CASE("AgentState: one say at a time, and what comes meanwhile goes together", "[worker]") {
  Fixture f;
  f.Run({"a"});
  f.Report("a", 1);
  const auto say = f.Next();
  f.Report("a", 2);
  f.Report("a", 3);
  CHECK(f.Quiet());
  f.Answer(say, {"a"});
  CHECK(Resources(f.Next()) == std::vector<int64_t>{2, 3});
}

TEST_CASE("AgentState: answers out of order: the older one changes nothing", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.Report("a", 1);
  const auto say = f.Next();
  f.Answer(say, {"a"});
  const auto late = f.Answer(poll, {"b"});
  CHECK(late.prepare.empty());
  CHECK(late.stop.empty());
  CHECK(f.Answer(say, {"c"}).prepare.empty());  // nor does a second answer to the same call
}

TEST_CASE("AgentState: what was said in a call that failed is said again, in order", "[worker]") {
  Fixture f;
  f.Run({"a"});
  f.Report("a", 1);
  f.Log("a", 0, "one");
  const auto lost = f.Next();
  f.Report("a", 2);
  CHECK(f.state.Failed(lost.number, kUnavailable, f.now) == AgentState::Setback::kRetry);
  CHECK(f.Quiet());
  REQUIRE(f.state.NextTime().has_value());
  f.now = *f.state.NextTime();
  const auto again = f.Next();
  CHECK(Resources(again) == std::vector<int64_t>{1, 2});
  CHECK(again.request.logs(0).data() == "one");
  f.Answer(again, {"a"});
  const auto poll = f.Next();
  CHECK(poll.request.reports().empty());
  CHECK(poll.request.logs().empty());
}

TEST_CASE("AgentState: failures in a row are answered with longer and longer pauses", "[worker]") {
  Fixture f;
  for (const int expected : {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
    const auto call = f.Next();
    f.state.Failed(call.number, kUnavailable, f.now);
    const auto pause = *f.state.NextTime() - f.now;
    CHECK(pause <= milliseconds(expected));
    CHECK(pause >= milliseconds(expected) * 3 / 4);
    f.now += pause;
  }
  f.Answer(f.Next(), {});
  f.state.Failed(f.Next().number, kUnavailable, f.now);
  CHECK(*f.state.NextTime() - f.now <= milliseconds(50));
}

TEST_CASE("AgentState: a poll that fails beside a say is no setback", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.Report("a", 1);
  const auto say = f.Next();
  CHECK(f.state.Failed(poll.number, absl::CancelledError(), f.now) == AgentState::Setback::kIgnore);
  f.Answer(say, {"a"});
  f.Next();
}

TEST_CASE("AgentState: reports an end until it is acknowledged", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.End("a");
  const auto lost = f.Next();
  CHECK(Said(lost) == "a:ENDED");
  CHECK(lost.request.running(0).outcome().kind() == v1::Outcome::FINISHED);
  f.Answer(poll, {});  // did not contain the end
  f.state.Failed(lost.number, kUnavailable, f.now);
  f.now = *f.state.NextTime();
  const auto again = f.Next();
  CHECK(Said(again) == "a:ENDED");
  f.Answer(again, {});
  CHECK(Said(f.Next()) == "");
}

TEST_CASE("AgentState: what has ended is not started again, however often it is named", "[worker]") {
  Fixture f;
  f.Run({"a"});
  f.End("a");
  CHECK(f.Answer(f.Next(), {"a"}).prepare.empty());
  f.now += milliseconds(2000);
  const auto call = f.Next();
  CHECK(Said(call) == "a:ENDED");
  CHECK(f.Answer(call, {"a"}).prepare.empty());
  CHECK_FALSE(f.state.Runs("a"));
}

TEST_CASE("AgentState: reports with many metrics are divided among calls that the server takes", "[worker]") {
  constexpr int kReports = 6000, kMetrics = 100;
  Fixture f;
  f.Run({"a"});
  v1::Report report;
  report.set_assignment_id("a");
  for (int i = 0; i < kMetrics; ++i) {
    report.add_metrics()->set_name(std::string(40, 'x') + std::to_string(i));
    report.mutable_metrics(i)->set_value(0.1);
  }
  int64_t told = 0;
  for (int64_t resource = 1; resource <= kReports; ++resource) {
    report.set_resource(resource);
    f.state.AddReport(report);
  }
  f.End("a");
  for (int calls = 0; told < kReports; ++calls) {
    REQUIRE(calls < 20);
    const auto call = f.Next();
    CHECK(call.request.ByteSizeLong() < 5 << 20);
    for (const int64_t resource : Resources(call)) CHECK(resource == ++told);
    CHECK(Said(call) == (told < kReports ? "a:STOPPING" : "a:ENDED"));
    f.Answer(call, {"a"});
  }
}

TEST_CASE("AgentState: an outcome never comes before the last report or log line", "[worker]") {
  Fixture f(Small());
  f.Run({"a", "b"});
  for (int64_t resource = 1; resource <= 3; ++resource) f.Report("a", resource);
  f.Log("a", 0, "12345678");
  f.Log("a", 8, "9");
  f.End("a");
  f.End("b");
  const auto first = f.Next();
  CHECK(Resources(first) == std::vector<int64_t>{1, 2});
  CHECK(Said(first) == "a:STOPPING b:ENDED");
  f.Answer(first, {"a"});
  const auto second = f.Next();
  CHECK(Resources(second) == std::vector<int64_t>{3});
  CHECK(second.request.logs(0).data() == "9");
  CHECK(Said(second) == "a:ENDED");
}

TEST_CASE("AgentState: a notice is sent at once, before the outcome, and again until it is acknowledged",
          "[worker]") {
  Fixture f;
  f.Run({"a"});
  v1::AssignmentNotice notice;
  notice.set_assignment_id("a");
  notice.set_kind(v1::JobNotice::BEYOND_BUDGET);
  notice.set_text("caf\xe9");
  f.state.AddNotice(notice);
  const AgentState::Call lost = f.Next();
  REQUIRE(lost.request.notices_size() == 1);
  CHECK(lost.request.notices(0).text() == "caf?");
  f.End("a");
  f.state.Failed(lost.number, kUnavailable, f.now);
  f.now += std::chrono::seconds(10);
  const AgentState::Call again = f.Next();
  CHECK(again.request.notices_size() == 1);
  CHECK(Said(again) == "a:ENDED");
  f.Answer(again, {});
  CHECK(f.Next().request.notices_size() == 0);
}

TEST_CASE("AgentState: reports why a model cannot be sent until that is acknowledged", "[worker]") {
  Fixture f;
  f.Run({});
  v1::ModelProblem problem;
  problem.set_job_id("job");
  problem.set_trial(7);
  problem.set_reason("too many files");
  f.state.AddModelProblem(problem);
  const AgentState::Call call = f.Next();
  REQUIRE(call.request.model_problems_size() == 1);
  CHECK(call.request.model_problems(0).reason() == "too many files");
  CHECK_FALSE(f.state.Settled());
  f.Answer(call, {});
  CHECK(f.state.Settled());
}

TEST_CASE("AgentState: a large backlog goes in bounded pieces, nothing lost or doubled", "[worker]") {
  Fixture f(Small());
  f.Run({"a"});
  for (int64_t resource = 1; resource <= 7; ++resource) f.Report("a", resource);
  std::vector<int64_t> all;
  for (auto call = f.Next(); !call.request.reports().empty(); call = f.Next()) {
    CHECK(call.request.reports_size() <= 2);
    for (const int64_t resource : Resources(call)) all.push_back(resource);
    f.Answer(call, {"a"});
  }
  CHECK(all == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("AgentState: reports alone leave a pause after the last word, and go with an end at once",
          "[worker]") {
  SyncLimits limits;
  limits.report_pause = milliseconds(5);
  Fixture f(limits);
  f.Run({"a"});
  f.now += milliseconds(5);
  f.Report("a", 1);
  f.Answer(f.Next(), {"a"});
  f.Report("a", 2);
  f.Report("a", 3);
  const TimePoint due = f.now + milliseconds(5);
  const auto poll = f.state.Next(f.now);
  REQUIRE((!poll.has_value() || poll->request.reports().empty()));
  CHECK(*f.state.NextTime() == due);
  SECTION("the pause is over") {
    f.now = due;
    CHECK(f.Next().request.reports_size() == 2);
  }
  SECTION("the part has ended") {
    f.End("a");
    const auto call = f.Next();
    CHECK(call.request.reports_size() == 2);
    CHECK(call.request.running(0).state() == RunningAssignment::ENDED);
  }
}

TEST_CASE("AgentState: log lines alone wait a moment and grow together until they are sent", "[worker]") {
  Fixture f;
  f.Run({"a"});
  f.Log("a", 0, "one ");
  f.Log("a", 4, "two ");
  CHECK(f.Quiet());
  CHECK(*f.state.NextTime() == f.now + milliseconds(100));
  f.now += milliseconds(100);
  const auto call = f.Next();
  REQUIRE(call.request.logs_size() == 1);
  CHECK(call.request.logs(0).data() == "one two ");
  f.Log("a", 8, "three");
  f.state.Failed(call.number, kUnavailable, f.now);
  f.now += milliseconds(200);
  const auto again = f.Next();
  REQUIRE(again.request.logs_size() == 2);  // what may be known already stays as it was
  CHECK(again.request.logs(0).data() == "one two ");
  CHECK(again.request.logs(1).data() == "three");
  CHECK(again.request.logs(1).offset() == 8);
}

TEST_CASE("AgentState: polls that come back early with nothing new become rare", "[worker]") {
  Fixture f;
  auto poll = f.Run({"a"});
  f.Answer(poll, {"a"});  // once is no pattern
  poll = f.Next();
  for (const int expected : {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
    f.Answer(poll, {"a"});
    const auto pause = *f.state.NextTime() - f.now;
    CHECK(pause <= milliseconds(expected));
    CHECK(pause >= milliseconds(expected) * 3 / 4);
    f.now += pause;
    poll = f.Next();
  }
  f.now += milliseconds(20'000);  // held to the end
  f.Answer(poll, {"a"});
  f.Next();
}

TEST_CASE("AgentState: the server may ask for shorter polls", "[worker]") {
  Fixture f;
  v1::SyncResponse response;
  response.mutable_next_interval()->set_seconds(3);
  f.state.Answered(f.Next().number, response, f.now);
  CHECK(HoldSeconds(f.Next()) == 3);
}

TEST_CASE("AgentState: a worker that was given up forgets everything and begins anew", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.Report("a", 1);
  f.End("a");
  const auto say = f.Next();
  CHECK(f.state.Failed(say.number, absl::FailedPreconditionError("lost"), f.now) ==
        AgentState::Setback::kRegisterAgain);
  f.state.Register("id-2");
  f.now = *f.state.NextTime();
  const auto hello = f.Next();
  CHECK(hello.request.worker_id() == "id-2");
  CHECK(hello.request.running().empty());
  CHECK(hello.request.reports().empty());
  CHECK(f.Answer(poll, {"a"}).prepare.empty());
  CHECK(f.Answer(hello, {"b"}).prepare.size() == 1);
}

TEST_CASE("AgentState: a server that does not want the worker ends it, one that did before is tried again",
          "[worker]") {
  Fixture f;
  CHECK(f.state.Failed(f.Next().number, absl::InvalidArgumentError("slots"), f.now) ==
        AgentState::Setback::kRefused);
  f.Answer(f.Next(), {});
  CHECK(f.state.Failed(f.Next().number, absl::InvalidArgumentError("slots"), f.now) ==
        AgentState::Setback::kRetry);
}

TEST_CASE("AgentState: leaving takes nothing new and is settled when all is known", "[worker]") {
  Fixture f;
  const auto poll = f.Run({"a"});
  f.state.Leave();
  const auto say = f.Next();
  CHECK(say.request.leaving());
  CHECK(Said(say) == "a:STOPPING");
  CHECK(f.Answer(poll, {"a", "b"}).prepare.empty());
  f.Answer(say, {});
  CHECK_FALSE(f.state.Settled());
  f.End("a");
  CHECK_FALSE(f.state.Settled());
  const auto last = f.Next();
  CHECK(Said(last) == "a:ENDED");
  f.Answer(last, {});
  CHECK_FALSE(f.state.Settled());
  const auto farewell = f.Next();
  CHECK(farewell.request.leaving());
  CHECK(farewell.request.running().empty());
  f.Answer(farewell, {});
  CHECK(f.state.Settled());
}

TEST_CASE("AgentState: what is not held is not spoken of", "[worker]") {
  Fixture f;
  f.Run({});
  f.Report("x", 1);
  f.Log("x", 0, "text");
  f.End("x");
  CHECK(f.Quiet());
}

TEST_CASE(
    "AgentState: usage goes with the next call, again until it is acknowledged, the oldest being dropped",
    "[worker]") {
  SyncLimits limits;
  limits.max_usage = 3;
  Fixture f(limits);
  const AgentState::Call poll = f.Run({"a"});
  CHECK(poll.request.usage().empty());
  const auto add = [&f](double cpu) {
    v1::UsageSample sample;
    sample.set_cpu(cpu);
    f.state.AddUsage(sample);
  };
  add(0.1);
  add(0.2);
  CHECK(f.Quiet());  // it is no reason to speak
  f.Report("a", 1);
  const AgentState::Call say = f.Next();
  REQUIRE(say.request.usage_size() == 2);
  for (double cpu : {0.3, 0.4}) add(cpu);
  f.state.Failed(say.number, kUnavailable, f.now);
  f.now += std::chrono::seconds(10);
  const AgentState::Call again = f.Next();
  REQUIRE(again.request.usage_size() == 3);
  CHECK(again.request.usage(0).cpu() == 0.2);
  add(0.5);
  f.Answer(again, {"a"});
  const AgentState::Call next = f.Next();
  REQUIRE(next.request.usage_size() == 1);
  CHECK(next.request.usage(0).cpu() == 0.5);
}

}  // namespace winnow
