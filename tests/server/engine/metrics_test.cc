// /metrics of a server that trains, as Prometheus reads it.

#include "server/engine/metrics.h"

#include <fmt/format.h>
#include <poll.h>

#include <fstream>
#include <regex>
#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

bool HasPromtool() {
  if (RunCommand("command -v promtool").exit_code == 0) return true;
  Skip("promtool is not installed (Debian's package prometheus)");
  return false;
}

// What Prometheus makes of it; "": nothing is wrong.
std::string Lint(const std::string& text) {
  const TempFolder folder;
  std::ofstream(folder.file("metrics")) << text;
  const Ran ran = RunCommand("promtool check metrics < " + folder.file("metrics"));
  return ran.exit_code == 0 && ran.output.empty()
             ? ""
             : fmt::format("exit code {}: {}", ran.exit_code, ran.output);
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += std::string(std::string("{}.+*?()[]\\^$|").find(c) == std::string::npos ? "" : "\\") + c;
  return escaped;
}

// The value of a line, by its name with labels; -1: there is none.
double ValueOf(const std::string& text, const std::string& name) {
  const std::regex line("(?:^|\n)" + Escaped(name) + " ([^\n]*)");
  std::smatch match;
  return std::regex_search(text, match, line) ? std::stod(match[1]) : -1;
}

TEST_CASE("Metrics: before anything happened there is what there will be", "[server]") {
  Metrics metrics;
  metrics.AddGauge("winnow_queue_length", "What waits", [] { return 3.0; });
  const std::string text = metrics.Text();
  CHECK(ValueOf(text, "winnow_queue_length") == 3);
  CHECK(ValueOf(text, "winnow_build_info{version=\"" WINNOW_VERSION "\"}") == 1);
  CHECK(ValueOf(text, "winnow_sync_duration_seconds_count") == 0);
  CHECK(ValueOf(text, "winnow_slots") == 0);
  CHECK(ValueOf(text, "process_resident_memory_bytes") > 1e6);
  CHECK(ValueOf(text, "process_open_fds") >= 3);
  CHECK(ValueOf(text, "process_cpu_seconds_total") > 0);
  if (HasPromtool()) CHECK(Lint(text) == "");
}

TEST_CASE("Metrics: what a server did while it trained a job", "[server]") {
  TempFolder folder;
  const std::string port_file = folder.file("http-port");
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "1", "--slots", "2", "--http",
                                                         "127.0.0.1:0", "--http-port-file", port_file});
  v1::TuningJobSpec spec = RandomJob(5, 1);
  spec.mutable_trainer()->clear_command();
  for (const char* word : {"/bin/echo", "loss=1"}) spec.mutable_trainer()->add_command(word);
  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = spec;
  v1::TuningJob job;
  grpc::ClientContext context;
  const grpc::Status created = server.Client()->CreateTuningJob(&context, create, &job);
  INFO(created.error_message());
  REQUIRE(created.ok());
  int port = 0;
  REQUIRE(std::ifstream(port_file) >> port);
  std::string text;
  constexpr int kTries = 600, kPauseMs = 50;
  for (int i = 0; i < kTries && ValueOf(text, "winnow_jobs_ended_total{state=\"completed\"}") != 1; ++i) {
    if (i > 0) poll(nullptr, 0, kPauseMs);
    text = RunCommand(fmt::format("curl -sS http://127.0.0.1:{}/metrics", port)).output;
  }
  INFO(text);
  CHECK(ValueOf(text, "winnow_jobs_ended_total{state=\"completed\"}") == 1);
  CHECK(ValueOf(text, "winnow_reports_total{result=\"accepted\"}") == 5);
  CHECK(ValueOf(text, "winnow_reports_total{result=\"fenced\"}") == 0);
  CHECK(ValueOf(text, "winnow_workers{state=\"live\",scheduling=\"open\"}") == 1);
  CHECK(ValueOf(text, "winnow_slots") == 2);
  CHECK(ValueOf(text, "winnow_slots_used") == 0);
  CHECK(ValueOf(text, "winnow_jobs{state=\"running\"}") == 0);
  for (const char* state : {"pending", "running", "paused", "completed", "pruned", "failed", "cancelled"})
    CHECK(ValueOf(text, fmt::format("winnow_trials{{state=\"{}\"}}", state)) == 0);
  CHECK(ValueOf(text, "winnow_sync_duration_seconds_count") >= 5);
  CHECK(ValueOf(text, "winnow_commit_duration_seconds_count") >= 5);
  CHECK(ValueOf(text, "winnow_dispatch_duration_seconds_count") >= 1);
  CHECK(ValueOf(text, "winnow_database_bytes") > 4096);
  CHECK(ValueOf(text, "winnow_artifact_bytes") == 0);
  CHECK(ValueOf(text, "winnow_queue_length") >= 0);
  CHECK_THAT(text, Catch::Contains("winnow_call_duration_seconds_count{"));
  CHECK_THAT(text, Catch::Contains("method=\"Sync\""));
  CHECK_THAT(text, Catch::Contains("method=\"CreateTuningJob\""));
  if (HasPromtool()) CHECK(Lint(text) == "");
}

TEST_CASE("Metrics: each question to a model is timed", "[server]") {
  Metrics metrics;
  Play play;
  play.metrics = &metrics;
  play.Restart();
  v1::TuningJobSpec spec = RandomJob(4, 2);
  spec.clear_strategy();
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::TPE);
  spec.mutable_sampler()->set_startup_trials(1);
  spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
  FakeWorker worker(play, "one", 1);
  PlayToEnd(play, play.Create(spec), {&worker}, [&](int) { play.AwaitModels(); });
  CHECK(ValueOf(metrics.Text(), "winnow_suggest_duration_seconds_count") == 3);
  CHECK(ValueOf(metrics.Text(), "winnow_dispatch_duration_seconds_count") == 4);
}

}  // namespace
}  // namespace winnow
