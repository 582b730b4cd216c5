// What workers say (Sync), as a sequence of calls to the real engine over tables in memory and a clock that
// is ticked: three workers that mostly keep to the protocol, and then not. After each call what must hold of
// the cluster is checked, and in the end that everyone was answered once and that loading the tables gives
// the state in memory.

#include <limits>

#include "server/engine/engine.h"
#include "spec/checks/check_spec.h"
#include "spec/job_file.h"
#include "tests/fuzz/sync_play.h"

namespace winnow::fuzz {
namespace {

constexpr int kMostCalls = 48;

v1::RunningAssignment State(Input& input, const std::string& id) {
  v1::RunningAssignment state;
  state.set_assignment_id(id);
  const uint32_t choice = input.Below(16);
  if (choice < 4) {
    state.set_state(v1::RunningAssignment::RUNNING);
  } else if (choice < 8) {
    state.set_state(v1::RunningAssignment::PREPARED);
    state.set_rendezvous_port(20000 + static_cast<int32_t>(choice));
  } else if (choice < 9) {
    state.set_state(v1::RunningAssignment::STOPPING);
  } else {
    state.set_state(v1::RunningAssignment::ENDED);
    v1::Outcome& outcome = *state.mutable_outcome();
    outcome.set_kind(static_cast<v1::Outcome::Kind>(choice < 13 ? 1 : choice - 12));
    if (choice == 14) outcome.set_cause(static_cast<v1::Outcome::Cause>(input.Below(4)));
    if (input.Flag()) outcome.mutable_start_time()->set_seconds(input.Number<int64_t>());
    if (input.Flag()) outcome.mutable_end_time()->set_seconds(input.Number<int64_t>());
  }
  return state;
}

v1::Report Report(Input& input, const std::string& id) {
  constexpr double kValues[] = {
      0.5, -1, 0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308};
  v1::Report report;
  report.set_assignment_id(id);
  const uint32_t level = input.Number();
  report.set_resource(level < 250 ? level % 16 : input.Number<int64_t>());
  for (uint32_t metrics = 1 + input.Below(4) / 3; metrics > 0; --metrics) {
    v1::MetricValue& metric = *report.add_metrics();
    const uint32_t choice = input.Number();
    metric.set_name(choice % 4 == 3 ? "seconds" : "loss");
    metric.set_value(choice < 128 ? static_cast<double>(choice) / 128 : kValues[choice % std::size(kValues)]);
  }
  return report;
}

v1::UsageSample Usage(Input& input, const Play& play) {
  v1::UsageSample sample;
  sample.mutable_time()->set_seconds(input.Flag() ? 1'700'000'000 + input.Number<int16_t>()
                                                  : input.Number<int64_t>());
  sample.set_cpu(input.Flag() ? 0.5 : input.Number<double>());
  sample.set_memory(input.Flag() ? 0.5 : input.Number<double>());
  v1::AssignmentUsage& usage = *sample.add_assignments();
  usage.set_assignment_id(play.AnyId(input));
  usage.set_cpus(input.Flag() ? 1 : input.Number<double>());
  usage.set_memory_gib(input.Flag() ? 1 : input.Number<double>());
  return sample;
}

// What worker `number` says; of assignments that it was told of, and now and then of others'.
v1::SyncRequest Request(Input& input, const Play& play, int number) {
  v1::SyncRequest request;
  const uint32_t choice = input.Number();
  const int generation = choice % 16 == 15 ? 2 : 1;
  request.set_worker_id(std::string(15, 'f') + std::to_string(number) + "-" + std::to_string(generation));
  request.set_name("worker-" + std::to_string(number));
  request.set_host("localhost");
  request.set_slots(choice % 16 == 14 ? input.Number<int8_t>() : 2);
  request.set_storage_id(choice % 2 == 0 ? "shared" : request.name());
  request.set_leaving(choice / 16 == 15);
  if (choice / 16 == 14) request.mutable_hold()->set_seconds(10);
  if (choice / 16 == 13) request.set_memory_gib(input.Number<double>());
  const uint32_t skipped = input.Number();
  uint32_t at = 0;
  for (const std::string& id : play.told(request.worker_id())) {
    if ((skipped >> (at++ % 8) & 1) != 0) continue;
    *request.add_running() = State(input, id);
    if (input.Flag()) *request.add_reports() = Report(input, id);
  }
  if (choice % 16 == 13) *request.add_running() = State(input, play.AnyId(input));
  if (choice % 16 == 12) *request.add_reports() = Report(input, play.AnyId(input));
  if (choice % 16 == 11) {
    v1::LogChunk& chunk = *request.add_logs();
    chunk.set_assignment_id(play.AnyId(input));
    chunk.set_stream(static_cast<v1::GetLogsRequest::Stream>(input.Below(4)));
    chunk.set_offset(input.Number<int16_t>());
    chunk.set_data(std::string(input.Text()));
    chunk.set_truncated(input.Flag());
  }
  if (choice % 16 == 10) {
    for (uint32_t samples = input.Below(4); samples > 0; --samples) *request.add_usage() = Usage(input, play);
  }
  return request;
}

void Step(Input& input, Play& play) {
  const uint32_t choice = input.Below(32);
  if (choice < 24) {
    play.Sync(Request(input, play, static_cast<int>(choice % 3)));
  } else if (choice < 27) {
    play.Tick(int64_t{input.Number<uint16_t>()} * 1000);
  } else if (choice == 27) {
    play.StopJob(input.Below(2));
  } else if (choice == 28) {
    play.Reload();
  } else if (choice == 29) {
    play.CreateJob(input.Below(2));
  } else {
    v1::SyncRequest request;
    if (request.ParseFromString(std::string(input.Text()))) play.Sync(request);
  }
}

}  // namespace
}  // namespace winnow::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow::fuzz;
  Input input(data, size);
  Play play;
  play.CreateJob(0);
  play.CreateJob(1);
  for (int calls = 0; calls < kMostCalls && !input.empty(); ++calls) Step(input, play);
  play.End();
  return 0;
}
