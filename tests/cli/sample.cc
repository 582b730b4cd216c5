#include "tests/cli/sample.h"

namespace winnow {
namespace {

constexpr char kSpec[] = R"text(
  name: "bank" strategy: HYPERBAND hyperband { max_resource: 9 }
  trainer { command: "/bin/true" metrics { name: "auc" regex: "auc=(.*)" } }
  parameters { name: "num_round" integer { min: 100 max: 200 } }
  parameters { name: "eta" continuous { min: 0 max: 1 } }
  parameters { name: "booster" categorical { values: "gbtree" values: "dart" } }
  objective { metric: "auc" goal: MAXIMIZE })text";

}  // namespace

v1::TuningJob SampleJob() {
  auto job = Text<v1::TuningJob>(R"(
    id: "bank" state: COMPLETED state_reason: "every planned trial has ended"
    create_time { seconds: 1795248000 } end_time { seconds: 1795248072 }
    trial_counts { completed: 2 pruned: 1 cancelled: 1 failed: 1 }
    best { trial: 3 objective: 0.78123456 resource: 9 }
    spend { resource: 1234 full_resource: 4500 elapsed_seconds: 72 training_seconds: 241 billable_node_seconds: 241 }
    brackets { index: 0 s: 1
      rungs { resource: 3 width: 3 entered: 3 arrived: 3 cutoff: 0.75 best: 0.76 }
      rungs { resource: 9 width: 1 entered: 1 arrived: 1 best: 0.78123456 } }
    brackets { index: 1 s: 0 rungs { resource: 9 width: 2 entered: 2 arrived: 2 best: 0.7 } }
    planned_trials: 5 planned_resource: 1500 last_sequence: 40)");
  *job.mutable_spec() = Text<v1::TuningJobSpec>(kSpec);
  return job;
}

v1::TuningJob RunningJob() {
  auto job = SampleJob();
  job.set_id("bank-2");
  job.set_state(v1::TuningJob::RUNNING);
  job.clear_state_reason();
  job.clear_end_time();
  *job.mutable_trial_counts() = Text<v1::TrialCounts>("running: 2 paused: 1 pruned: 2");
  job.mutable_spend()->set_resource(750);
  job.mutable_brackets(1)->mutable_rungs(0)->set_arrived(1);
  job.mutable_brackets(1)->mutable_rungs(0)->set_running(1);
  job.set_last_sequence(20);
  return job;
}

std::vector<v1::Trial> SampleTrials() {
  const char* const texts[] = {
      R"(number: 1 state: PRUNED state_reason: "Hyperband, bracket 1 (s = 1): at 3 units it was 2nd of 3, 0.74 against the cut-off 0.75"
         hyperparameters { name: "num_round" integer: 150 } hyperparameters { name: "eta" continuous: 0.1 }
         hyperparameters { name: "booster" categorical: "gbtree" }
         objective: 0.74 resource: 3 best_objective: 0.745 best_resource: 2 bracket: 0 rung: 0 attempts: 1
         start_time { seconds: 1795248001 } end_time { seconds: 1795248003 nanos: 500000000 }
         training_seconds: 2.5 billable_node_seconds: 2.5 trained_resource: 3)",
      R"(number: 2 state: FAILED state_reason: "exit code 1: cannot read \"a,b\"\nat line 3"
         hyperparameters { name: "num_round" integer: 100 } hyperparameters { name: "eta" continuous: 0.3333333333333333 }
         hyperparameters { name: "booster" categorical: "dart" } bracket: 0 attempts: 1
         start_time { seconds: 1795248001 } end_time { seconds: 1795248002 }
         training_seconds: 1 billable_node_seconds: 1)",
      R"(number: 3 state: COMPLETED
         hyperparameters { name: "num_round" integer: 200 } hyperparameters { name: "eta" continuous: 0.25 }
         hyperparameters { name: "booster" categorical: "gbtree" }
         objective: 0.78123456 resource: 9 best_objective: 0.78123456 best_resource: 9 bracket: 0 rung: 1 attempts: 2
         start_time { seconds: 1795248001 } end_time { seconds: 1795248070 }
         training_seconds: 61 billable_node_seconds: 61 trained_resource: 9)"};
  std::vector<v1::Trial> trials;
  for (const char* text : texts) {
    trials.push_back(Text<v1::Trial>(text));
    trials.back().set_job_id("bank");
  }
  return trials;
}

v1::TuningJobEvent SampleEvent(int64_t sequence, const std::string& kind, const std::string& text) {
  v1::TuningJobEvent event;
  event.set_sequence(sequence);
  event.mutable_time()->set_seconds(1795248000 + sequence);
  event.set_kind(kind);
  event.set_text(text);
  return event;
}

std::string SampleFile() {
  return R"json({
  "name": "bank",
  "trainer": {"command": ["/bin/true"], "metrics": [{"name": "auc", "regex": "auc=(.*)"}]},
  "parameters": [{"name": "eta", "continuous": {"min": 0, "max": 1}}],
  "objective": {"metric": "auc", "goal": "MAXIMIZE"},
  "strategy": "HYPERBAND",
  "hyperband": {"max_resource": 81}
})json";
}

}  // namespace winnow
