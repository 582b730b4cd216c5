#include "bench/big_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "server/engine/best_tracker.h"
#include "server/engine/job_facts.h"
#include "server/engine/jobs.h"
#include "server/engine/messages.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

constexpr int64_t kCreateUs = 1'700'000'000'000'000;
constexpr int64_t kFactsPerCommit = 200'000;
constexpr int64_t kEta = 3;
constexpr int64_t kBrackets = 3;
constexpr int64_t kRungs = 5;  // of the first bracket
// Fraction of the intended units that is trained: trials fail, and the last ones are not promoted.
constexpr double kReached = 0.85;
// Units that a trial of these brackets trains on average, per unit of the lowest rung: bracket b begins at
// eta^b, and each of its further rungs adds 2/3 of that.
constexpr double kUnitsOfLowest =
    kReached * ((1 + 4 * 2.0 / 3) + 3 * (1 + 3 * 2.0 / 3) + 9 * (1 + 2 * 2.0 / 3)) / 3;

void Require(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.ToString());
  std::exit(1);
}

void AddContinuous(v1::TuningJobSpec& spec, const char* name, double min, double max, v1::Scaling scaling) {
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  parameter.mutable_continuous()->set_min(min);
  parameter.mutable_continuous()->set_max(max);
  parameter.mutable_continuous()->set_scaling(scaling);
}

void AddInteger(v1::TuningJobSpec& spec, const char* name, int64_t min, int64_t max, v1::Scaling scaling) {
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  parameter.mutable_integer()->set_min(min);
  parameter.mutable_integer()->set_max(max);
  parameter.mutable_integer()->set_scaling(scaling);
}

v1::TuningJobSpec Spec(const std::string& name, int64_t trials, int64_t reports) {
  v1::TuningJobSpec spec;
  spec.set_name(name);
  spec.mutable_trainer()->add_command("train");
  v1::MetricDefinition& metric = *spec.mutable_trainer()->add_metrics();
  metric.set_name("validation-loss");
  metric.set_regex("loss=([0-9.]+)");
  spec.mutable_objective()->set_metric("validation-loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  AddContinuous(spec, "learning_rate", 1e-4, 1, v1::LOG);
  AddInteger(spec, "depth", 2, 12, v1::LINEAR);
  AddInteger(spec, "width", 16, 1024, v1::LOG);
  AddContinuous(spec, "momentum", 0.5, 0.999, v1::REVERSE_LOG);
  AddContinuous(spec, "dropout", 0, 0.7, v1::LINEAR);
  v1::ParameterSpec& optimizer = *spec.add_parameters();
  optimizer.set_name("optimizer");
  for (const char* value : {"adam", "sgd", "lion"}) optimizer.mutable_categorical()->add_values(value);
  AddContinuous(spec, "weight_decay", 1e-6, 1e-1, v1::LOG);
  v1::ParameterSpec& warm_up = *spec.add_parameters();
  warm_up.set_name("warm_up");
  warm_up.mutable_discrete()->add_values(0);
  warm_up.mutable_discrete()->add_values(0.05);
  warm_up.mutable_discrete()->add_values(0.1);
  warm_up.mutable_condition()->set_parameter("optimizer");
  warm_up.mutable_condition()->add_values("sgd");
  const auto lowest = static_cast<int64_t>(std::ceil(static_cast<double>(reports) / kUnitsOfLowest));
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::RANDOM);
  v1::PrunerSpec& pruner = *spec.mutable_pruner();
  pruner.set_kind(v1::PrunerSpec::ASHA);
  pruner.set_min_resource(lowest);
  pruner.set_reduction_factor(kEta);
  pruner.set_max_resource(lowest * static_cast<int64_t>(std::pow(kEta, kRungs - 1)));
  pruner.set_brackets(kBrackets);
  spec.mutable_limits()->set_max_trials(trials);
  spec.set_seed(7);
  return spec;
}

// A loss that decreases with the level by a power law to the configuration's limit.
double Loss(const Configuration& x, int64_t level) {
  const double rate = std::log10(std::get<double>(x[0]));
  const auto depth = static_cast<double>(std::get<int64_t>(x[1]));
  const double width = std::log2(static_cast<double>(std::get<int64_t>(x[2])));
  const double decay = std::log10(std::get<double>(x[6]));
  const auto hash = static_cast<int64_t>(std::get<double>(x[3]) * 1e15);
  if (rate > -0.3 && RandomUnit(1, hash, Purpose::kSimulation, 0) < 0.3) {
    return level > 3 ? std::numeric_limits<double>::quiet_NaN() : std::exp(static_cast<double>(level));
  }
  double end = 0.2 + 0.05 * (rate + 2) * (rate + 2) + 0.004 * (depth - 7) * (depth - 7) +
               0.01 * std::abs(width - 8) + 0.3 * std::pow(std::get<double>(x[4]) - 0.2, 2) +
               0.004 * (decay + 3.5) * (decay + 3.5) + 0.02 * (rate + 2) * (width - 7) / 4;
  if (std::get<std::string>(x[5]) == "sgd") end += 0.03 - (std::get<double>(x[7]) > 0.01 ? 0.02 : 0);
  const double noise = RandomUnit(2, hash, Purpose::kSimulation, static_cast<uint64_t>(level)) - 0.5;
  return end + (2.3 - end) * std::pow(1 + static_cast<double>(level), -0.6 - 0.1 * rate) + 0.01 * noise;
}

SimulationResult Play(const SearchSpec& search) {
  Simulation simulation;
  simulation.workers = 64;
  simulation.objective = Loss;
  simulation.failure_rate = 0.01;
  simulation.unit_seconds = 1;
  simulation.seed = 3;
  return Simulate(search, simulation);
}

// Writes facts, trials, steps and the description as the engine does.
class Filler {
 public:
  Filler(Store& store, OpenJob& job) : store_(store), job_(job) {}

  absl::Status Take(Fact& fact) {
    fact.time_us += kCreateUs;
    if (auto* ended = std::get_if<AttemptEnded>(&fact.body)) {
      ended->started_us += kCreateUs;
      ended->ended_us += kCreateUs;
    }
    job_.state.Apply(fact);
    NoteInRow(fact, job_.row);
    if (const auto step = job_.best.Note(job_.state, fact.time_us)) {
      const absl::Status status = store_.summaries.AddStep(job_.row.key, *step);
      if (!status.ok()) return status;
    }
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr) return store_.facts.AppendEvent(job_.row.key, fact);
    ++reports_;
    return store_.facts
        .AppendReport(job_.row.key, {report->trial, report->attempt, report->resource, "validation-loss",
                                     report->objective, fact.time_us, fact.sequence})
        .status();
  }

  absl::Status End() {
    for (const TrialState& trial : job_.state.trials()) {
      const absl::Status status = store_.trials.Put(job_.row.key, MakeTrialRow(trial));
      if (!status.ok()) return status;
    }
    job_.row.last_sequence = job_.state.last_sequence();
    absl::Status status = store_.jobs.Update(job_.row);
    if (!status.ok()) return status;
    return store_.summaries.PutDescription(job_.row.key, Description(job_));
  }

  int64_t reports() const { return reports_; }

 private:
  Store& store_;
  OpenJob& job_;
  int64_t reports_ = 0;
};

}  // namespace

BigJob MakeBigJob(const std::string& file, const std::string& name, int64_t trials, int64_t reports) {
  auto opened = Store::Open(file);
  Require(opened.status());
  Store& store = **opened;
  const v1::TuningJobSpec spec = Spec(name, trials, reports);
  JobRow row;
  row.spec = SpecToJson(spec);
  row.state = "running";
  row.create_us = kCreateUs;
  Require(store.Write([&]() -> absl::Status {
    absl::StatusOr<JobRow> inserted = store.jobs.Insert(name, row);
    if (inserted.ok()) row = *inserted;
    return inserted.status();
  }));
  std::vector<Fact> facts = Play(ToSearchSpec(spec)).facts;
  OpenJob job(row, spec);
  Filler filler(store, job);
  for (size_t next = 0; next < facts.size();) {
    Require(store.Write([&]() -> absl::Status {
      for (int64_t i = 0; i < kFactsPerCommit && next < facts.size(); ++i, ++next) {
        const absl::Status status = filler.Take(facts[next]);
        if (!status.ok()) return status;
      }
      return absl::OkStatus();
    }));
  }
  Require(store.Write([&] { return filler.End(); }));
  return {row.id, static_cast<int64_t>(job.state.trials().size()), filler.reports()};
}

}  // namespace winnow
