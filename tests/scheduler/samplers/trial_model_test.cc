#include "scheduler/samplers/trial_model.h"

#include <cmath>
#include <limits>

#include "scheduler/models/acquisition.h"
#include "scheduler/samplers/gp_proposal.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

using Eigen::VectorXd;

SearchSpec GpJob(int64_t max_trials = 0) {
  SearchSpec spec = RandomJob(max_trials, 1);
  spec.sampler.kind = SamplerKind::kGp;
  return spec;
}

TrialNumber Begin(PlayedJob& job, double x) {
  const auto number = static_cast<TrialNumber>(job.state().trials().size()) + 1;
  job.Record(TrialCreated{number, {x}, -1, 0, 1, "given"});
  job.Record(AttemptStarted{number, 1, 0, 1});
  return number;
}
void Play(PlayedJob& job, double x, double value) { job.Finish(Begin(job, x), value); }

double MeanAt(const TrialModel& model, double x) {
  return model.process().Predict(VectorXd::Constant(1, x)).mean;
}
double ImprovementAt(const TrialModel& model, const VectorXd& point) {
  return LogExpectedImprovement(model.process().Predict(point), model.bar());
}

TEST_CASE("Trial model: what was fitted is read back as it was recorded", "[scheduler]") {
  FittedModel model;
  model.work = 17;
  const Eigen::Vector3d length(0.1, 2, 0.7), a(1, 1.5, 1), b(1, 0.3, 1);
  model.hyperparameters = {{length, a, b}, 1.25, 0.01, -0.2};
  model.gains = {{12, 0.02, 0.03, 0.4, 0.003}, {4, 0.5, 1.5, 2, 1e-7}};
  CHECK_FALSE(FittedModel::Unpack({}, 3, 2));
  CHECK_FALSE(FittedModel::Unpack(model.Pack(), 3, 3));
  const FittedModel back = FittedModel::Unpack(model.Pack(), 3, 2).value();
  CHECK(back.work == 17);
  CHECK(back.hyperparameters.warping.length == length);
  CHECK(back.hyperparameters.warping.b == b);
  CHECK(back.hyperparameters.mean == -0.2);
  CHECK(back.gains == model.gains);
  CHECK(back.Pack() == model.Pack());
}

TEST_CASE("Trial model: nothing is known before a first finite value", "[scheduler]") {
  PlayedJob job(GpJob());
  CHECK(TrialModel(job.state()).empty());
  Play(job, 0.5, std::numeric_limits<double>::quiet_NaN());
  CHECK(TrialModel(job.state()).empty());
  Play(job, 0.25, 3);
  const TrialModel model(job.state());
  REQUIRE_FALSE(model.empty());
  CHECK(model.results() == 1);
  CHECK(model.ToObjective(model.best()) == Approx(3));
}

TEST_CASE("Trial model: is fitted anew only where there are a tenth more results", "[scheduler]") {
  Simulation simulation = Slots(3);
  const SimulationResult result = Simulate(GpJob(60), simulation);
  int64_t completed = 0, refits = 0, kept = 0;
  double fitted_to = 0;
  for (const Fact& fact : result.facts) {
    completed += std::holds_alternative<TrialEnded>(fact.body) ? 1 : 0;
    const auto* suggested = std::get_if<Suggested>(&fact.body);
    if (suggested == nullptr) continue;
    const bool due = static_cast<double>(completed) > 1.1 * fitted_to;
    CHECK(suggested->model.empty() != due);
    if (due) fitted_to = suggested->model[0];
    if (due) CHECK(fitted_to == static_cast<double>(completed));
    ++(due ? refits : kept);
  }
  CHECK(refits > 5);
  CHECK(kept > refits);
}

TEST_CASE("Trial model: equal facts give equal bits", "[scheduler]") {
  const SimulationResult result = Simulate(GpJob(25), Slots(3));
  JobState loaded(GpJob(25));
  for (const Fact& fact : result.facts) loaded.Apply(fact);
  const TrialModel one(result.state), other(loaded);
  CHECK(one.best() == other.best());
  CHECK(one.refitted() == other.refitted());
  for (const double x : {0.05, 0.4, 0.95}) {
    const VectorXd at = VectorXd::Constant(1, x);
    CHECK(one.process().Predict(at).mean == other.process().Predict(at).mean);
    CHECK(one.process().Predict(at).variance == other.process().Predict(at).variance);
  }
}

TEST_CASE("Trial model: goes with the goal, and back to values of the objective", "[scheduler]") {
  for (const Goal goal : {Goal::kMaximize, Goal::kMinimize}) {
    SearchSpec spec = GpJob();
    spec.goal = goal;
    PlayedJob job(spec);
    for (int i = 0; i < 12; ++i) Play(job, i / 11.0, 100 + 10 * std::sin(i / 11.0));
    const TrialModel model(job.state());
    CHECK((MeanAt(model, 0.9) > MeanAt(model, 0.1)) == (goal == Goal::kMaximize));
    CHECK(model.ToObjective(MeanAt(model, 0.45)) == Approx(100 + 10 * std::sin(0.45)).epsilon(2e-3));
    const double best = goal == Goal::kMaximize ? 100 + 10 * std::sin(1) : 100;
    CHECK(model.ToObjective(model.best()) == Approx(best).epsilon(2e-3));
  }
}

TEST_CASE("Trial model: where trials fail or give no number nothing good is expected", "[scheduler]") {
  for (const bool fails : {true, false}) {
    PlayedJob job(GpJob());
    for (int i = 0; i < 15; ++i) {
      const double x = i / 14.0;
      if (x < 0.6) {
        Play(job, x, x);
      } else if (fails) {
        job.End(Begin(job, x), AttemptOutcome::kFailed, "out of memory");
      } else {
        Play(job, x, std::numeric_limits<double>::quiet_NaN());
      }
    }
    const TrialModel model(job.state());
    CHECK(MeanAt(model, 0.85) < MeanAt(model, 0.5) - 0.5);
    CHECK(model.results() == 9);
  }
}

TEST_CASE("Trial model: results of earlier jobs count, but less than its own", "[scheduler]") {
  PlayedJob own(GpJob()), warm(GpJob());
  for (int i = 0; i < 10; ++i) {
    const double x = i / 9.0;
    warm.Record(EarlierResult{{x}, std::sin(2 * x), 0, "an earlier job"});
    Play(own, x, std::sin(2 * x));
  }
  const TrialModel mine(own.state()), theirs(warm.state());
  REQUIRE_FALSE(theirs.empty());
  CHECK(theirs.results() == 10);
  CHECK(theirs.known().empty());
  CHECK(MeanAt(theirs, 0.8) > MeanAt(theirs, 0.2));
  const VectorXd middle = VectorXd::Constant(1, 0.5);
  CHECK(theirs.process().Predict(middle).variance > mine.process().Predict(middle).variance);
}

TEST_CASE("Trial model: a trial that runs makes its surroundings less promising", "[scheduler]") {
  PlayedJob job(GpJob());
  for (int i = 0; i < 8; ++i) Play(job, i / 7.0, std::sin(6.0 * i / 7));
  const TrialModel before(job.state());
  const auto proposal = Propose(job.state(), before);
  REQUIRE(proposal);
  const VectorXd point = before.points().PointOf(proposal->configuration);
  Begin(job, std::get<double>(proposal->configuration[0]));
  const TrialModel after(job.state());
  CHECK(ImprovementAt(after, point) < ImprovementAt(before, point) - 0.5);
  CHECK(MeanAt(after, point[0]) == Approx(MeanAt(before, point[0])).margin(1e-3));
}

TEST_CASE("Trial model: of 5,000 trials it rests on a few hundred, the best among them", "[scheduler]") {
  PlayedJob job(GpJob());
  const auto x = [](int64_t i) { return RandomUnit(1, i, Purpose::kSimulation, 0); };
  for (int64_t i = 1; i <= 5'000; ++i) Play(job, x(i), -std::abs(x(i) - 0.3));
  const TrialModel model(job.state());
  CHECK(model.known().size() <= TrialModel::kMostTrials);
  CHECK(model.process().count() <= static_cast<int64_t>(TrialModel::kMostTrials));
  bool knows_best = false;
  for (const TrialModel::Known& known : model.known()) knows_best |= known.trial == *job.state().best_trial();
  CHECK(knows_best);
  CHECK(MeanAt(model, 0.3) > MeanAt(model, 0.6));
}

TEST_CASE("Trial model: ends of trials that paused low are less certain than of those that were trained",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3, 30);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kAsha;
  Simulation simulation = Slots(1);
  simulation.objective = [](const Configuration& configuration, int64_t level) {
    return std::get<double>(configuration[0]) - std::pow(static_cast<double>(level), -0.5);
  };
  const SimulationResult result = Simulate(spec, simulation);
  const TrialModel model(result.state);
  double low = 0, high = 0, lows = 0, highs = 0;
  for (const TrialModel::Known& known : model.known()) {
    const int64_t level = result.state.trial(known.trial).curve.back().first;
    if (level == 1) low += known.end.variance, ++lows;
    if (level == 27) high += known.end.variance, ++highs;
  }
  REQUIRE(lows > 0);
  REQUIRE(highs > 0);
  CHECK(high / highs < low / lows);
}

TEST_CASE("Trial model: of trials that paused on a plateau it is not expected what the chosen ones gained",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3, 120);
  spec.sampler.kind = SamplerKind::kSobol;
  spec.pruner.kind = PrunerKind::kAsha;
  for (const char* name : {"b", "c", "d"}) {
    spec.parameters.push_back(spec.parameters[0]);
    spec.parameters.back().name = name;
  }
  // A third of the space learns, the rest stays where it began.
  const auto learns = [](const Configuration& configuration) {
    const auto x = [&](size_t i) { return std::get<double>(configuration[i]); };
    return x(0) < 0.6 && x(1) + x(2) < 1 ? 0.5 + 0.5 * x(3) : 0;
  };
  Simulation simulation = Slots(1);
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    const double unlike = 0.01 * std::get<double>(configuration[3]);
    return unlike + learns(configuration) * (1 - 0.8 * std::pow(static_cast<double>(level), -0.7));
  };
  const SimulationResult result = Simulate(spec, simulation);
  const TrialModel model(result.state);
  double paused = 0, inside = 0, squares = 0;
  for (const TrialModel::Known& known : model.known()) {
    const TrialState& trial = result.state.trial(known.trial);
    if (trial.curve.back().first == 27 || learns(trial.configuration) > 0) continue;
    const Prediction report = model.ReportOf(known.end);
    const double end = simulation.objective(trial.configuration, 27);
    paused += 1;
    inside += std::abs(model.FromObjective(end) - report.mean) < 1.645 * std::sqrt(report.variance) ? 1 : 0;
    squares += std::pow(model.ToObjective(report.mean) - end, 2);
  }
  CAPTURE(paused, inside / paused, std::sqrt(squares / paused));
  REQUIRE(paused > 40);
  CHECK(inside / paused > 0.75);
  CHECK(std::sqrt(squares / paused) < 0.1);
}

}  // namespace
}  // namespace winnow
