#include "scheduler/samplers/pareto_model.h"

#include <algorithm>
#include <cmath>

#include "scheduler/replay.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/simulate.h"
#include "scheduler/state/front_summary.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// Two parabolas over the unit square: the front is the line between (0.25, 0.5) and (0.75, 0.5).
SearchSpec TwoParabolas(SamplerKind sampler, PrunerKind pruner, int64_t trials) {
  SearchSpec spec = RandomJob(trials, 4);
  spec.parameters = {{"x", ContinuousRange{0, 1, Scaling::kLinear}},
                     {"y", ContinuousRange{0, 1, Scaling::kLinear}}};
  spec.objectives = {{"left", Goal::kMinimize, 0.3}, {"right", Goal::kMinimize, 0.3}};
  spec.objective_metric = "left";
  spec.goal = Goal::kMinimize;
  spec.objective_value = ObjectiveValue::kLast;
  spec.sampler.kind = sampler;
  spec.pruner.kind = pruner;
  if (HasRungs(pruner)) {
    spec.limits.max_trial_resource = 0;
    spec.pruner.rungs = {1, 4, 2};
    spec.limits.max_trials = 0;
    spec.limits.max_total_resource = 4 * trials;
  }
  return spec;
}

double Distance(const Configuration& configuration, double x, double y) {
  return std::pow(std::get<double>(configuration[0]) - x, 2) +
         std::pow(std::get<double>(configuration[1]) - y, 2);
}

Simulation Parabolas() {
  Simulation simulation = Slots(1);
  const auto shrinks = [](int64_t level) { return 0.1 / static_cast<double>(level); };
  simulation.objective = [=](const Configuration& c, int64_t level) {
    return Distance(c, 0.25, 0.5) + shrinks(level);
  };
  simulation.further = [=](const Configuration& c, int64_t level, int64_t metric) -> std::optional<double> {
    if (metric == 1) return Distance(c, 0.75, 0.5) + shrinks(level);
    return std::get<double>(c[0]);  // a constraint's metric
  };
  return simulation;
}

double Volume(const SearchSpec& spec) {
  const SimulationResult result = Simulate(spec, Parabolas());
  REQUIRE(Verify(spec, result.facts).ok());
  return SummaryOf(result.state, 2).hypervolume;
}

TEST_CASE("Pareto model: GP, TPE and freeze-thaw find more of the front than chance", "[scheduler]") {
  double random = 0, gp = 0, tpe = 0, freeze_thaw = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto volume = [seed](SamplerKind sampler, PrunerKind pruner) {
      SearchSpec spec = TwoParabolas(sampler, pruner, 24);
      spec.seed = seed;
      return Volume(spec);
    };
    random += volume(SamplerKind::kRandom, PrunerKind::kNone);
    gp += volume(SamplerKind::kGp, PrunerKind::kNone);
    tpe += volume(SamplerKind::kTpe, PrunerKind::kNone);
    freeze_thaw += volume(SamplerKind::kGp, PrunerKind::kFreezeThaw);
  }
  CAPTURE(random, gp, tpe, freeze_thaw);
  CHECK(gp > 1.05 * random);
  CHECK(tpe > random);
  CHECK(freeze_thaw > 1.05 * random);
}

TEST_CASE(
    "Pareto model: the GP begins with the centre and three points, or more where categories are unordered",
    "[scheduler]") {
  const auto whys = [](const SearchSpec& spec) {
    std::vector<std::string> found;
    for (const Fact& fact : Simulate(spec, Parabolas()).facts) {
      if (const auto* created = std::get_if<TrialCreated>(&fact.body)) found.push_back(created->why);
    }
    return found;
  };
  SearchSpec spec = TwoParabolas(SamplerKind::kGp, PrunerKind::kNone, 8);
  spec.parameters.push_back({"ordered", CategoricalRange{{"small", "medium", "large"}, true}});
  spec.parameters.push_back({"two", CategoricalRange{{"yes", "no"}}});
  spec.parameters.push_back({"z", ContinuousRange{0, 1, Scaling::kLinear}});
  const std::vector<std::string> few = whys(spec);
  CHECK(few[0] == "The centre of the space.");
  CHECK(few[3] == "Point 4 of a scrambled Sobol sequence.");
  CHECK_THAT(few[4], Catch::StartsWith("Gaussian processes on 4 results"));
  for (const char* name : {"a", "b", "c", "d"})
    spec.parameters.push_back({name, CategoricalRange{{"x", "y", "z"}}});
  CHECK(whys(spec)[4] == "Point 5 of a scrambled Sobol sequence.");
  CHECK_THAT(whys(spec)[5], Catch::StartsWith("Gaussian processes on 5 results"));
  // The user's own number, and jobs with one objective.
  spec.sampler.startup_trials = 6;
  CHECK(whys(spec)[5] == "Point 6 of a scrambled Sobol sequence.");
  SearchSpec one = TwoParabolas(SamplerKind::kGp, PrunerKind::kNone, 8);
  one.objectives.clear();
  CHECK(whys(one)[0] == "Point 1 of a scrambled Sobol sequence.");
}

TEST_CASE("Pareto model: near the end of the budget the model alone chooses", "[scheduler]") {
  SearchSpec spec = TwoParabolas(SamplerKind::kGp, PrunerKind::kFreezeThaw, 40);
  spec.pruner.rungs = {1, 9, 3};
  spec.limits.max_total_resource = 200;
  int64_t others = 0, late = 0;
  JobState state(spec);
  const SimulationResult result = Simulate(spec, Parabolas());
  for (const Fact& fact : result.facts) {
    if (const auto* suggested = std::get_if<Suggested>(&fact.body)) {
      const bool models = suggested->rule == SuggestionRule::kModel;
      const bool near_end = state.totals().resource + state.totals().reserved_resource > 140;
      CAPTURE(suggested->why);
      if (near_end) CHECK(models);
      late += near_end && suggested->trial > 0 ? 1 : 0;
      others += models || suggested->rule == SuggestionRule::kStart ? 0 : 1;
    }
    state.Apply(fact);
  }
  CHECK(others > 0);
  CHECK(late > 5);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Pareto model: proposals keep to what satisfies the constraint", "[scheduler]") {
  SearchSpec spec = TwoParabolas(SamplerKind::kGp, PrunerKind::kNone, 24);
  spec.metric_constraints.push_back({.metric = "place", .at_most = 0.4});
  const SimulationResult result = Simulate(spec, Parabolas());
  int64_t violated = 0;
  for (size_t i = 12; i < result.state.trials().size(); ++i)
    violated += result.state.trials()[i].violation > 0 ? 1 : 0;
  CHECK(violated <= 3);
  for (const Standing& member : result.state.front())
    CHECK(std::get<double>(result.state.trial(member.number).configuration[0]) <= 0.4);
  CHECK_THAT(std::get<TrialCreated>(std::find_if(result.facts.rbegin(), result.facts.rend(),
                                                 [](const Fact& fact) {
                                                   return std::holds_alternative<TrialCreated>(fact.body);
                                                 })
                                        ->body)
                 .why,
             Catch::Contains("Gaussian processes on") && Catch::Contains("chance to be feasible") &&
                 Catch::Contains("chance to add to the front"));
}

TEST_CASE("Pareto model: of many trials it rests on a few hundred, the whole front among them",
          "[scheduler]") {
  const SearchSpec spec = TwoParabolas(SamplerKind::kRandom, PrunerKind::kNone, 3'000);
  const SimulationResult result = Simulate(spec, Parabolas());
  const ParetoModel model(result.state);
  CHECK(model.known().size() <= TrialModel::kMostTrials);
  const std::vector<Standing> front = result.state.front();
  CHECK(front.size() > 10);
  for (const Standing& member : front) {
    CHECK(std::any_of(model.known().begin(), model.known().end(),
                      [&](const TrialModel::Known& known) { return known.trial == member.number; }));
  }
}

TEST_CASE("Pareto model: a paused trial is worth its end beside what was reached, a copy of it less",
          "[scheduler]") {
  const SearchSpec spec = TwoParabolas(SamplerKind::kGp, PrunerKind::kFreezeThaw, 12);
  JobState state(spec);
  int64_t paused = 0, more = 0;  // is worth more than the copy
  for (const Fact& fact : Simulate(spec, Parabolas()).facts) {
    state.Apply(fact);
    if (!std::holds_alternative<AttemptEnded>(fact.body) || state.trials().size() < 8) continue;
    const ParetoModel model(state);
    for (size_t place = 0; place < model.known().size(); ++place) {
      const TrialModel::Known& known = model.known()[place];
      const std::vector<Standing>& front = state.front();
      const bool on_front = std::any_of(front.begin(), front.end(),
                                        [&](const Standing& member) { return member.number == known.trial; });
      if (!on_front || state.trial(known.trial).phase != TrialPhase::kPaused) continue;
      const ParetoModel::Outlook end = model.OutlooksOfKnown({place})[0];
      const ParetoModel::Outlook copy = model.OutlookOf(known.point);
      // Where others are expected to end ahead of it, both are worth the same.
      CHECK(end.log_improvement >= copy.log_improvement);
      CHECK(end.chance >= copy.chance);
      more += end.log_improvement > copy.log_improvement && end.chance > copy.chance ? 1 : 0;
      ++paused;
    }
  }
  CAPTURE(paused, more);
  CHECK(more > 0);
  CHECK(more >= paused - 2);
}

TEST_CASE("Pareto model: a trial of the front that training makes worse is left where it is", "[scheduler]") {
  const SearchSpec spec = TwoParabolas(SamplerKind::kGp, PrunerKind::kFreezeThaw, 16);
  Simulation simulation = Slots(1);
  const auto grows = [](int64_t level) { return 0.02 * static_cast<double>(level); };
  simulation.objective = [=](const Configuration& c, int64_t level) {
    return Distance(c, 0.25, 0.5) + grows(level);
  };
  simulation.further = [=](const Configuration& c, int64_t level, int64_t) -> std::optional<double> {
    return Distance(c, 0.75, 0.5) + grows(level);
  };
  JobState state(spec);
  int64_t paused = 0, left = 0, on_front = 0;
  for (const Fact& fact : Simulate(spec, simulation).facts) {
    state.Apply(fact);
    if (const auto* suggested = std::get_if<Suggested>(&fact.body)) {
      const auto& front = state.front();
      on_front += suggested->rule == SuggestionRule::kModel && suggested->configuration.empty() &&
                          std::any_of(front.begin(), front.end(),
                                      [&](const Standing& each) { return each.number == suggested->trial; })
                      ? 1
                      : 0;
    }
    if (!std::holds_alternative<AttemptEnded>(fact.body) || state.trials().size() < 12) continue;
    const ParetoModel model(state);
    for (size_t place = 0; place < model.known().size(); ++place) {
      const TrialNumber number = model.known()[place].trial;
      const bool member = std::any_of(state.front().begin(), state.front().end(),
                                      [&](const Standing& each) { return each.number == number; });
      if (!member || state.trial(number).phase != TrialPhase::kPaused) continue;
      left += std::isinf(model.OutlooksOfKnown({place})[0].log_improvement) ? 1 : 0;
      ++paused;
    }
  }
  CAPTURE(paused, left, on_front);
  CHECK(paused > 10);
  CHECK(left > 0.9 * static_cast<double>(paused));
  CHECK(on_front <= 2);
}

TEST_CASE("Pareto model: where trials fail is learned", "[scheduler]") {
  const SearchSpec spec = TwoParabolas(SamplerKind::kRandom, PrunerKind::kNone, 24);
  Simulation simulation = Parabolas();
  const auto left = simulation.objective;
  simulation.objective = [left](const Configuration& c, int64_t level) {
    return std::get<double>(c[0]) > 0.5 ? std::nan("") : left(c, level);
  };
  const SimulationResult result = Simulate(spec, simulation);
  REQUIRE(result.state.totals().failed > 5);
  const ParetoModel model(result.state);
  for (const double y : {0.3, 0.5, 0.7}) {
    CHECK(model.OutlookOf(Eigen::Vector2d(0.9, y)).chance_of_feasible < 0.25);
    CHECK(model.OutlookOf(Eigen::Vector2d(0.1, y)).chance_of_feasible > 0.75);
  }
}

TEST_CASE("Pareto model: with one objective and a constraint the best is on the border", "[scheduler]") {
  for (const PrunerKind pruner : {PrunerKind::kNone, PrunerKind::kFreezeThaw}) {
    SearchSpec spec = TwoParabolas(SamplerKind::kGp, pruner, 30);
    spec.objectives.clear();
    spec.metric_constraints.push_back({.metric = "place", .at_least = 0.6});
    Simulation simulation = Parabolas();
    simulation.further = [](const Configuration& c, int64_t, int64_t) -> std::optional<double> {
      return std::get<double>(c[0]);
    };
    const SimulationResult result = Simulate(spec, simulation);
    REQUIRE(result.state.best_trial());
    const TrialState& best = result.state.trial(*result.state.best_trial());
    CHECK(best.violation == 0);
    CHECK(std::get<double>(best.configuration[0]) < 0.7);
    CHECK(Verify(spec, result.facts).ok());
  }
}

TEST_CASE("Pareto model: the slopes of the score are those of differences", "[scheduler]") {
  SearchSpec spec = TwoParabolas(SamplerKind::kRandom, PrunerKind::kNone, 15);
  spec.metric_constraints.push_back({.metric = "place", .at_most = 0.4});
  Simulation simulation = Parabolas();
  simulation.failure_rate = 0.2;
  const SimulationResult result = Simulate(spec, simulation);
  const ParetoModel model(result.state);
  REQUIRE_FALSE(model.empty());
  for (const auto& [x, y] : {std::pair(0.2, 0.3), std::pair(0.35, 0.55), std::pair(0.8, 0.1)}) {
    const Eigen::VectorXd point = Eigen::Vector2d(x, y);
    const Acquisition score = model.ScoreOf(point);
    CHECK(score.value == Approx(model.Scores(point.transpose())[0]));
    for (Eigen::Index j = 0; j < 2; ++j) {
      constexpr double kStep = 1e-5;
      Eigen::VectorXd more = point, less = point;
      more[j] += kStep;
      less[j] -= kStep;
      const double slope = (model.ScoreOf(more).value - model.ScoreOf(less).value) / (2 * kStep);
      CHECK(score.gradient[j] == Approx(slope).epsilon(1e-2).margin(1e-3));
    }
  }
}

}  // namespace
}  // namespace winnow
