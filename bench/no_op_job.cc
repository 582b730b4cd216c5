#include "bench/no_op_job.h"

#include <filesystem>

namespace winnow {

std::string ServerBinary() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "winnow-server").string();
}

v1::TuningJobSpec NoOpJob(int trials, const std::string& folder, const std::string& command) {
  v1::TuningJobSpec spec;
  spec.set_name("bench");
  for (const std::string word : {"/bin/sh", "-c", command.c_str()}) spec.mutable_trainer()->add_command(word);
  auto* metric = spec.mutable_trainer()->add_metrics();
  metric->set_name("loss");
  metric->set_regex("loss=([0-9.]+)");
  auto* parameter = spec.add_parameters();
  parameter->set_name("x");
  parameter->mutable_continuous()->set_max(1);
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  spec.set_strategy(v1::RANDOM);
  spec.mutable_limits()->set_max_trials(trials);
  spec.set_working_directory(folder);
  return spec;
}

void FillSync(v1::SyncRequest& request, const std::string& worker_id, const std::string& assignment,
              int64_t resource, int reports) {
  request.Clear();
  request.set_worker_id(worker_id);
  request.set_name("w-" + worker_id);
  request.set_host("127.0.0.1");
  request.set_slots(1);
  request.set_storage_id("bench");
  if (!assignment.empty()) {
    auto* running = request.add_running();
    running->set_assignment_id(assignment);
    running->set_state(v1::RunningAssignment::RUNNING);
  }
  for (int i = 0; i < reports; ++i) {
    auto* report = request.add_reports();
    report->set_assignment_id(assignment);
    report->set_resource(++resource);
    auto* metric = report->add_metrics();
    metric->set_name("loss");
    metric->set_value(1.0 / static_cast<double>(resource));
  }
}

}  // namespace winnow
