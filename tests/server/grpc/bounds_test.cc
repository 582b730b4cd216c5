// Limits of what callers may make the service do and hold, and the answers beyond them.

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "server/engine/answers/violations.h"
#include "server/engine/metrics.h"
#include "server/grpc/errors.h"
#include "server/grpc/health_watch.h"
#include "server/host/last_resort.h"
#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

using TuningStub = v1::TuningService::Stub;

v1::TuningJobSpec Wide(const std::string& name, int values) {
  v1::TuningJobSpec spec = RandomJob(3);
  spec.set_name(name);
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name("kind");
  for (int i = 0; i < values; ++i) parameter.mutable_categorical()->add_values(fmt::format("value-{:07}", i));
  return spec;
}

// The thread of all reads, standing still as long as it lives.
class StuckReads {
 public:
  explicit StuckReads(Reader& reader) {
    reader.Post([reached = &reached_, released = released_.get_future().share()](Reads&) {
      reached->set_value();
      released.wait();
    });
    reached_.get_future().wait();
  }
  ~StuckReads() { released_.set_value(); }

 private:
  std::promise<void> reached_;
  std::promise<void> released_;
};

TEST_CASE("Bounds: a spec that is too large is refused by name, by Create and by Preview", "[server]") {
  ServicePlay play;
  v1::CreateTuningJobRequest create;
  v1::PreviewTuningJobRequest preview;
  std::string field;
  SECTION("values of a hyperparameter") {
    *create.mutable_spec() = Wide("wide", 10'001);
    field = "parameters[1].categorical.values: has 10001 entries; expected at most 10000";
  }
  SECTION("categorical values in all") {
    *create.mutable_spec() = Wide("wide", 5'001);
    *create.mutable_spec()->add_parameters() = create.spec().parameters(1);
    create.mutable_spec()->mutable_parameters(2)->set_name("other");
    field = "parameters: have 10002 categorical values together; expected at most 10000";
  }
  SECTION("bytes in all") {
    *create.mutable_spec() = Wide("wide", 9'000);
    for (int i = 0; i < 9'000; ++i)
      create.mutable_spec()->mutable_parameters(1)->mutable_categorical()->mutable_values(i)->append(200,
                                                                                                     'x');
    field = "spec: has ";
  }
  SECTION("metrics") {
    *create.mutable_spec() = RandomJob(3);
    for (int i = 0; i < 5'000; ++i) {
      v1::MetricDefinition& metric = *create.mutable_spec()->mutable_trainer()->add_metrics();
      metric.set_name(fmt::format("m{}", i));
      metric.set_regex("(.*.*.*x{1,900})");
    }
    field = "trainer.metrics: has ";
  }
  SECTION("initial configurations") {
    *create.mutable_spec() = RandomJob(3);
    for (int i = 0; i < 50'000; ++i) create.mutable_spec()->add_initial_configurations();
    field = "initial_configurations: has 50000 entries; expected at most 10000";
  }
  *preview.mutable_spec() = create.spec();
  v1::TuningJob job;
  grpc::Status status = play.Call(&TuningStub::CreateTuningJob, create, job);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains(field));
  v1::TuningPlan plan;
  status = play.Call(&TuningStub::PreviewTuningJob, preview, plan);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains(field));
}

TEST_CASE("Bounds: an expression that takes too much memory is refused", "[server]") {
  ServicePlay play;
  v1::PreviewTuningJobRequest request;
  *request.mutable_spec() = RandomJob(3);
  request.mutable_spec()->mutable_trainer()->mutable_metrics(0)->set_regex("((((x{1,100}){1,100})){1,9})");
  v1::TuningPlan plan;
  const grpc::Status status = play.Call(&TuningStub::PreviewTuningJob, request, plan);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains("trainer.metrics[0].regex"));
}

TEST_CASE("Bounds: a preview does not wait for other reads, nor they for it", "[server]") {
  ServicePlay play;
  v1::PreviewTuningJobRequest request;
  *request.mutable_spec() = RandomJob(3);
  v1::TuningPlan plan;
  {
    StuckReads stuck(*play.reader);
    CHECK(play.Call(&TuningStub::PreviewTuningJob, request, plan).ok());
  }
  CHECK_FALSE(plan.strategy_text().empty());
}

TEST_CASE("Bounds: a file that never ends to open keeps no other call waiting", "[server]") {
  ServicePlay play;
  const std::string pipe = play.folder.file("study.db");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = RandomJob(3);
  request.mutable_spec()->set_strategy(v1::BAYESIAN);
  v1::OptunaStudy& study = *request.mutable_spec()->mutable_warm_start()->add_optuna_studies();
  study.set_file(pipe);
  study.set_study("x");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  v1::TuningJob job;
  CHECK_FALSE(play.tuning->CreateTuningJob(&context, request, &job).ok());
  v1::ListTuningJobsResponse list;
  CHECK(play.Call(&TuningStub::ListTuningJobs, v1::ListTuningJobsRequest(), list).ok());
  CHECK(list.jobs_size() == 0);
  // Wakes everything that waits in open().
  const int end = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  CHECK(write(end, "x", 1) == 1);
  close(end);
}

TEST_CASE("Bounds: a list has no large spec, and jobs with one can be listed and deleted", "[server]") {
  ServicePlay play;
  v1::TuningJobSpec spec = Wide("large", 100'000);  // as none can be created any more
  (*spec.mutable_trainer()->mutable_environment())["SECRET"] = "hunter2";
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(play.Create(spec));
  v1::ListTuningJobsResponse list;
  REQUIRE(play.Call(&TuningStub::ListTuningJobs, v1::ListTuningJobsRequest(), list).ok());
  REQUIRE(list.jobs_size() == 3);
  CHECK(list.ByteSizeLong() < 10'000);
  const v1::TuningJobSpec& listed = list.jobs(0).spec();
  CHECK(listed.parameters(1).categorical().values_size() == 20);
  CHECK(listed.parameters(0).name() == spec.parameters(0).name());
  CHECK(listed.objective().metric() == spec.objective().metric());
  CHECK(listed.trainer().command_size() == 1);
  CHECK(listed.trainer().environment().empty());
  v1::DescribeTuningJobRequest describe;
  describe.set_id(ids[0]);
  v1::TuningJob job;
  v1::DeleteTuningJobResponse deleted;
  for (const std::string& id : ids) {
    REQUIRE(play.Stop(id).ok());
    v1::DeleteTuningJobRequest request;
    request.set_id(id);
    CHECK(play.Call(&TuningStub::DeleteTuningJob, request, deleted).ok());
  }
}

TEST_CASE("Bounds: a list ends its page before it is too long to be sent", "[server]") {
  ServicePlay play;
  v1::TuningJobSpec spec = RandomJob(3);
  for (int p = 0; p < 300; ++p) {
    v1::ParameterSpec& parameter = *spec.add_parameters();
    parameter.set_name(fmt::format("a-hyperparameter-with-a-long-name-indeed-number-{:05}-as-they-are", p));
    parameter.mutable_continuous()->set_max(1);
  }
  for (int i = 0; i < 100; ++i) play.Create(spec);
  v1::ListTuningJobsRequest request;
  request.set_page_size(1000);
  int jobs = 0, pages = 0;
  do {
    v1::ListTuningJobsResponse list;
    REQUIRE(play.Call(&TuningStub::ListTuningJobs, request, list).ok());
    CHECK(list.ByteSizeLong() < 3u << 20);
    jobs += list.jobs_size();
    ++pages;
    request.set_page_token(list.next_page_token());
  } while (!request.page_token().empty());
  CHECK(jobs == 100);
  CHECK(pages > 1);
}

TEST_CASE("Bounds: an error of very many violations reaches its caller", "[server]") {
  ServicePlay play;
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = RandomJob(3);
  for (int i = 0; i < 900; ++i) {
    v1::ParameterSpec& parameter = *request.mutable_spec()->add_parameters();
    parameter.set_name(fmt::format("p{}", i));
    parameter.mutable_continuous()->set_min(2);
  }
  v1::TuningJob job;
  grpc::Status status = play.Call(&TuningStub::CreateTuningJob, request, job);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  v1::BadRequest bad;
  REQUIRE(bad.ParseFromString(status.error_details()));
  CHECK(bad.violations_size() > 20);
  CHECK_THAT(bad.violations(bad.violations_size() - 1).description(),
             Catch::StartsWith("and ") && Catch::EndsWith(" more"));
  CHECK_THAT(status.error_message(), Catch::Contains("; and 895 more"));

  *request.mutable_spec() = RandomJob(3);
  request.mutable_spec()->set_name(std::string(200'000, 'n'));
  status = play.Call(&TuningStub::CreateTuningJob, request, job);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains("name: is \"nnn") && Catch::Contains("bytes]…"));
}

TEST_CASE("Bounds: any error fits into what clients of gRPC take", "[server]") {
  const std::string text =
      GENERATE(std::string(100'000, 'a'), std::string(100'000, '\n'), std::string(100'000, '%'));
  const grpc::Status status = ToGrpc(absl::NotFoundError(text));
  size_t encoded = 0;
  for (const char c : status.error_message()) encoded += c == 'a' ? 1 : 3;
  CHECK(encoded <= 2'100);
  CHECK_THAT(status.error_message(), Catch::Contains("bytes]"));
  std::vector<Violation> many(3'000, {std::string(1'000, 'f'), text});
  const grpc::Status violations = ToGrpc(ViolationsError(many));
  CHECK(violations.error_details().size() < 5'000);
}

TEST_CASE("Bounds: the error for bytes that are not the method's request says so", "[server]") {
  ServicePlay play;
  Metrics metrics;
  const auto server = *GrpcServer::Start({.address = "127.0.0.1:0", .metrics = &metrics}, play.coordinator(),
                                         *play.reader, play.hub);
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()), grpc::InsecureChannelCredentials()));
  const grpc::Slice slice(std::string("\xff\xff\xff no message"));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/winnow.v1.TuningService/CreateTuningJob", {}, &request, &response,
                 [&ended](const grpc::Status& status) { ended.set_value(status); });
  const grpc::Status status = ended.get_future().get();
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains("cannot be read"));
}

TEST_CASE("Bounds: health is bad while reads stand still, and good again after", "[server]") {
  ServicePlay play;
  std::mutex mutex;
  std::condition_variable changed;
  bool healthy = true;
  const auto wait_for = [&](bool wanted) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), [&] { return healthy == wanted; });
  };
  const HealthWatchOptions often = {std::chrono::milliseconds(10), std::chrono::milliseconds(50)};
  const HealthWatch watch(
      MakeHealthProbe(play.coordinator(), *play.reader),
      [&](bool now) {
        const std::lock_guard lock(mutex);
        healthy = now;
        changed.notify_all();
      },
      often);
  {
    StuckReads stuck(*play.reader);
    CHECK(wait_for(false));
  }
  CHECK(wait_for(true));
}

// This process can open no descriptor as long as this lives; open ones stay.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit standard = {STDERR_FILENO + 1, before_.rlim_max};  // poll refuses more than the limit
    REQUIRE(setrlimit(RLIMIT_NOFILE, &standard) == 0);
    REQUIRE(dup(STDIN_FILENO) < 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

// A silent connection.
class Mute {
 public:
  explicit Mute(int port) : Mute() { Connect(port); }
  // Not connected yet.
  Mute() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  void Connect(int port) const {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    REQUIRE(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~Mute() { close(socket_); }
  Mute(const Mute&) = delete;
  Mute& operator=(const Mute&) = delete;
  // Whether the other side says something, as a server of HTTP/2 does first, within the time.
  bool IsGreeted(std::chrono::milliseconds within) const {
    pollfd wait = {socket_, POLLIN, 0};
    char bytes[256];
    return poll(&wait, 1, static_cast<int>(within.count())) == 1 && read(socket_, bytes, sizeof bytes) > 0;
  }
  // Whether the other side ends it, within the time.
  bool Ends(std::chrono::milliseconds within) const {
    const auto end = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < end) {
      pollfd wait = {socket_, POLLIN, 0};
      char bytes[256];
      if (poll(&wait, 1, 10) == 1 && read(socket_, bytes, sizeof bytes) <= 0) return true;
    }
    return false;
  }

 private:
  const int socket_;
};

constexpr std::chrono::seconds kSoon{60};

TEST_CASE("Gate: a connection without an admitted call is ended when its time is over, one with it goes on",
          "[server]") {
  ServicePlay play;
  GrpcServerOptions options;
  options.address = "127.0.0.1:0";
  options.gate.patience = std::chrono::milliseconds(100);
  const auto server = *GrpcServer::Start(options, play.coordinator(), *play.reader, play.hub);
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()), grpc::InsecureChannelCredentials());
  const auto stub = v1::TuningService::NewStub(channel);
  grpc::ClientContext context;
  v1::ListTuningJobsResponse list;
  REQUIRE(stub->ListTuningJobs(&context, v1::ListTuningJobsRequest(), &list).ok());
  for (int i = 0; i < 3; ++i) CHECK(Mute(server->port()).Ends(kSoon));
  CHECK(channel->GetState(false) == GRPC_CHANNEL_READY);
}

TEST_CASE("Gate: of too many connections without an admitted call the oldest is ended", "[server]") {
  ServicePlay play;
  GrpcServerOptions options;
  options.address = "127.0.0.1:0";
  options.gate.strangers = 2;
  const auto server = *GrpcServer::Start(options, play.coordinator(), *play.reader, play.hub);
  const Mute first(server->port()), second(server->port()), third(server->port());
  CHECK(first.Ends(kSoon));
  CHECK_FALSE(third.Ends(std::chrono::milliseconds(0)));
  const Mute fourth(server->port());
  CHECK(second.Ends(kSoon));
}

TEST_CASE("Gate: while no descriptor is free, connections wait, and others are served and ended",
          "[server]") {
  ServicePlay play;
  GrpcServerOptions options;
  options.address = "127.0.0.1:0";
  options.gate.patience = std::chrono::milliseconds(300);
  const auto server = *GrpcServer::Start(options, play.coordinator(), *play.reader, play.hub);
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()), grpc::InsecureChannelCredentials());
  const auto stub = v1::TuningService::NewStub(channel);
  const auto list = [&stub] {
    grpc::ClientContext context;
    v1::ListTuningJobsResponse jobs;
    return stub->ListTuningJobs(&context, v1::ListTuningJobsRequest(), &jobs).ok();
  };
  REQUIRE(list());
  const Mute silent(server->port()), late;
  REQUIRE(silent.IsGreeted(kSoon));
  {
    const NoDescriptors full;
    late.Connect(server->port());
    CHECK(list());
    CHECK(silent.Ends(kSoon));
    CHECK_FALSE(late.IsGreeted(std::chrono::milliseconds(0)));
  }
  CHECK(late.IsGreeted(kSoon));
}

TEST_CASE("Last resort: acts when its time is over, and not when it is gone before", "[server]") {
  std::promise<void> acted;
  const LastResort late(std::chrono::milliseconds(0), [&acted] { acted.set_value(); });
  acted.get_future().wait();
  {
    const LastResort early(std::chrono::hours(1), [] { std::abort(); });
  }
}

}  // namespace
}  // namespace winnow
