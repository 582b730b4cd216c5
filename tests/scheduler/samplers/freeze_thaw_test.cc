#include "scheduler/pruners/freeze_thaw.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scheduler/pruners/asha.h"
#include "scheduler/replay.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/simulate.h"
#include "scheduler/suggest.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec FreezeThawJob(int64_t max_trials) {
  SearchSpec spec = HyperbandJob(27, 3, max_trials);
  spec.parameters.push_back({"y", ContinuousRange{0, 1}});
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  return spec;
}

double Curve(const Configuration& configuration, int64_t resource) {
  const double x = std::get<double>(configuration[0]) - 0.3, y = std::get<double>(configuration[1]) - 0.6;
  const double speed = 0.3 + 0.5 * std::abs(std::sin(40 * x));
  return 1 - 2 * x * x - y * y - 0.5 * std::pow(static_cast<double>(resource), -speed);
}

SimulationResult Run(const SearchSpec& spec, int slots) {
  Simulation simulation = Slots(slots);
  simulation.objective = Curve;
  return Simulate(spec, simulation);
}

// Where a part takes so many seconds before its first unit, which takes 1 to 1.5.
SimulationResult RunStarting(SearchSpec spec, double start_seconds, int slots = 1) {
  Simulation simulation = Slots(slots);
  simulation.objective = Curve;
  simulation.start_seconds = start_seconds;
  return Simulate(spec, simulation);
}

std::vector<AttemptStarted> PartsOf(const SimulationResult& result) {
  std::vector<AttemptStarted> parts;
  for (const Fact& fact : result.facts) {
    if (const auto* started = std::get_if<AttemptStarted>(&fact.body)) parts.push_back(*started);
  }
  return parts;
}

bool SameParts(const SimulationResult& a, const SimulationResult& b) {
  const std::vector<AttemptStarted> left = PartsOf(a), right = PartsOf(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const FactBody& x, const FactBody& y) { return Identical(x, y); });
}

// Places the next trial, asking the model if it has to be asked; 0: nothing is worth it.
TrialNumber Next(PlayedJob& job) {
  if (const TrialNumber number = job.Start()) return number;
  if (WantsSuggestion(job.state())) job.Record(Suggest(job.state()));
  return job.Start();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("Freeze-thaw: begins with the centre and Sobol points, of which the best go on, but not to the end",
          "[scheduler]") {
  const SearchSpec spec = FreezeThawJob(40);
  int64_t created = 0, resumed = 0;
  for (const Fact& fact : Run(spec, 1).facts) {
    if (const auto* suggested = std::get_if<Suggested>(&fact.body)) {
      if (suggested->rule != SuggestionRule::kStart) break;
    }
    if (const auto* trial = std::get_if<TrialCreated>(&fact.body)) {
      const bool first = ++created == 1;
      const std::string point = "Point " + std::to_string(created) + " of a scrambled Sobol sequence.";
      CHECK(trial->why == (first ? "The centre of the space." : point));
      CHECK(trial->to == 1);
    }
    if (const auto* trial = std::get_if<TrialResumed>(&fact.body)) {
      CHECK(Contains(trial->reason, ", of the best "));
      CHECK(trial->to < 27);
      ++resumed;
    }
  }
  CHECK(created == StartupTrials(spec));
  CHECK(resumed > 0);
  CHECK(resumed <= created / 2);
}

TEST_CASE("Freeze-thaw: initial configurations come before Sobol points", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(12);
  spec.initial = {{0.25, 0.5}, {0.75, 0.5}};
  const SimulationResult result = Run(spec, 2);
  CHECK(result.state.trial(1).configuration == spec.initial[0]);
  CHECK(result.state.trial(2).configuration == spec.initial[1]);
}

TEST_CASE("Freeze-thaw: the clearly best paused trial is the first that is trained to the end",
          "[scheduler]") {
  PlayedJob job(FreezeThawJob(0));
  for (int choice = 0; choice < 200; ++choice) {
    const TrialNumber number = Next(job);
    REQUIRE(number > 0);
    const double rungs = std::log(static_cast<double>(job.trial(number).to)) / std::log(3.0);
    job.Finish(number, (number == 4 ? 0.6 : 0.2 + 0.01 * static_cast<double>(number % 7)) + 0.05 * rungs);
    if (job.trial(number).phase != TrialPhase::kCompleted) continue;
    CHECK(number == 4);
    CHECK(job.state().trials().size() < 100);
    return;
  }
  FAIL("none was");
}

TEST_CASE("Freeze-thaw: hopeless trials are left where they paused", "[scheduler]") {
  const SimulationResult result = Run(FreezeThawJob(60), 2);
  std::vector<double> ends;
  for (const TrialState& trial : result.state.trials()) ends.push_back(Curve(trial.configuration, 27));
  std::sort(ends.begin(), ends.end());
  int64_t low_units = 0, units = 0;
  std::set<TrialNumber> straight;  // to the end from the first, whatever they look like
  for (const Fact& fact : result.facts) {
    const auto* created = std::get_if<TrialCreated>(&fact.body);
    if (created != nullptr && created->to == 27) straight.insert(created->trial);
  }
  for (const TrialState& trial : result.state.trials()) {
    if (straight.count(trial.number) > 0) continue;
    units += trial.trained_resource;
    low_units += Curve(trial.configuration, 27) < ends[20] ? trial.trained_resource : 0;
  }
  CHECK(low_units < units / 5);
}

TEST_CASE("Freeze-thaw: ends nearer to the top than as many units of random trials", "[scheduler]") {
  double regret = 0, random_regret = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SearchSpec spec = FreezeThawJob(0);
    spec.limits.max_total_resource = 300;
    spec.seed = seed;
    SimulationResult result = Run(spec, 1);
    const double top = Curve({0.3, 0.6}, 1'000'000'000);
    regret += top - result.state.trial(*result.state.best_trial()).best_objective;
    spec.sampler.kind = SamplerKind::kRandom;
    spec.pruner = {};
    spec.limits.max_trial_resource = 27;
    result = Run(spec, 1);
    random_regret += top - result.state.trial(*result.state.best_trial()).best_objective;
  }
  CHECK(regret < 0.8 * random_regret);
}

TEST_CASE("Freeze-thaw: with all trials created it ends when none is likely to become best, and says so",
          "[scheduler]") {
  const SearchSpec spec = FreezeThawJob(30);
  const SimulationResult result = Run(spec, 3);
  REQUIRE(result.state.ended());
  CHECK(result.state.ended()->end == JobEnd::kCompleted);
  CHECK(Contains(result.state.ended()->reason, "No paused trial has a 5 % chance of beating "));
  int stopped = 0;
  for (const TrialState& trial : result.state.trials()) {
    CHECK_FALSE(trial.phase == TrialPhase::kPaused);
    if (trial.phase != TrialPhase::kPruned) continue;
    ++stopped;
    CHECK(trial.reason.find("Paused at rung ") == 0);
    CHECK(Contains(trial.reason, " with score = "));
    CHECK(Contains(trial.reason, "not resumed: No paused trial has a 5 % chance of beating "));
  }
  CHECK(stopped > 10);
  CHECK(result.state.totals().completed > 0);
}

TEST_CASE("Freeze-thaw: of max_total_resource nothing is exceeded, and no rest is left that pays for a trial",
          "[scheduler]") {
  for (const int64_t most : {30, 101, 333}) {
    for (const int slots : {1, 5}) {
      for (const bool resumes : {true, false}) {
        CAPTURE(most, slots, resumes);
        SearchSpec spec = FreezeThawJob(0);
        spec.pruner.rungs = {2, 54, 3};
        spec.limits.max_total_resource = most;
        spec.resumes = resumes;
        Simulation simulation = Slots(slots);
        simulation.objective = Curve;
        simulation.on_settled = [&](const JobState& state) {
          if (state.totals().resource + state.totals().reserved_resource > most) FAIL("exceeded");
        };
        const SimulationResult result = Simulate(spec, simulation);
        REQUIRE(result.state.ended());
        CHECK(most - result.state.totals().resource < 2);
        CHECK(result.state.ended()->reason.find("max_total_resource = ") == 0);
      }
    }
  }
}

TEST_CASE("Freeze-thaw: any sampler, on one slot and on sixteen, every decision again from the record",
          "[scheduler]") {
  for (const SamplerKind sampler : kSamplers) {
    for (const int slots : {1, 16}) {
      CAPTURE(static_cast<int>(sampler), slots);
      SearchSpec spec = FreezeThawJob(32);
      spec.sampler.kind = sampler;
      if (sampler == SamplerKind::kGrid) spec.sampler.grid_points = {4, 6};
      Simulation simulation = Slots(slots);
      simulation.objective = Curve;
      simulation.failure_rate = slots > 1 ? 0.1 : 0;
      const SimulationResult result = Simulate(spec, simulation);
      CHECK_FALSE(result.stalled);
      CHECK(result.state.trials().size() == (sampler == SamplerKind::kGrid ? 24 : 32));
      if (sampler == SamplerKind::kGrid) {
        std::set<Configuration> tried, points;
        for (const TrialState& trial : result.state.trials()) tried.insert(trial.configuration);
        for (int64_t i = 0; i < 24; ++i) points.insert(result.state.grid()->Nth(i));
        CHECK(tried == points);
      }
      CHECK(result.state.totals().completed > 0);
      CHECK(Verify(spec, result.facts).ok());
    }
  }
}

TEST_CASE("Freeze-thaw: a trainer that cannot resume begins every part from nothing", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(24);
  spec.resumes = false;
  const SimulationResult result = Run(spec, 2);
  int parts = 0;
  for (const Fact& fact : result.facts) {
    const auto* started = std::get_if<AttemptStarted>(&fact.body);
    if (started == nullptr) continue;
    CHECK(started->from == 0);
    parts += started->attempt > 1 ? 1 : 0;
  }
  CHECK(parts > 0);
  CHECK(result.state.ended()->end == JobEnd::kCompleted);
}

TEST_CASE("Freeze-thaw: a trial that its trainer ended below the last rung is complete", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(24);
  spec.own_end = 7;
  Simulation simulation = Slots(2);
  simulation.objective = Curve;
  simulation.own_end = 7;
  const SimulationResult result = Simulate(spec, simulation);
  int completed = 0;
  for (const TrialState& trial : result.state.trials()) {
    CHECK(trial.trained_resource <= 7);
    if (trial.phase != TrialPhase::kCompleted) continue;
    ++completed;
    CHECK(trial.reason == "Trained to resource 7, the trainer's own end.");
  }
  CHECK(completed > 0);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Freeze-thaw: with a single rung it tries what BAYESIAN tries", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(15);
  spec.pruner.rungs = {9, 9, 3};
  SearchSpec bayesian = spec;
  bayesian.pruner = {};
  bayesian.limits.max_trial_resource = 9;
  const SimulationResult ours = Run(spec, 1), theirs = Run(bayesian, 1);
  for (TrialNumber number = 1; number <= StartupTrials(bayesian); ++number) {
    CHECK(ours.state.trial(number).configuration == theirs.state.trial(number).configuration);
  }
  CHECK(ours.state.totals().completed == 15);
}

TEST_CASE("Freeze-thaw: every rule gets a share of a long job, and says so", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(0);
  spec.limits.max_total_resource = 800;
  const SimulationResult result = Run(spec, 2);
  for (const SuggestionRule rule : {SuggestionRule::kModel, SuggestionRule::kStart, SuggestionRule::kBreadth,
                                    SuggestionRule::kStraight, SuggestionRule::kDensity}) {
    CAPTURE(static_cast<int>(rule));
    CHECK(result.state.suggested_parts(rule) > 0);
  }
  const auto any_says = [&](const std::string& text) {
    return std::any_of(result.facts.begin(), result.facts.end(), [&](const Fact& fact) {
      const auto* created = std::get_if<TrialCreated>(&fact.body);
      return created != nullptr && Contains(created->why, text);
    });
  };
  CHECK(any_says("whatever the model says: breadth has "));
  CHECK(any_says("; TPE has "));
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Freeze-thaw: what only repeats another trial is not trained further", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(0);
  spec.limits.max_total_resource = 40 * 27;
  Simulation simulation = Slots(2);
  // Nothing between a tenth of x and the next changes anything, nor between thirds of y.
  const auto step_of = [](const Configuration& configuration) {
    return std::pair(std::min(9.0, std::floor(10 * std::get<double>(configuration[0]))),
                     std::min(2.0, std::floor(3 * std::get<double>(configuration[1]))));
  };
  simulation.objective = [&](const Configuration& configuration, int64_t resource) {
    const auto [x, y] = step_of(configuration);
    return Curve({(x + 0.5) / 10, (y + 0.5) / 3}, resource);
  };
  const SimulationResult result = Simulate(spec, simulation);
  std::map<std::pair<double, double>, int> trials, trained;
  for (const TrialState& trial : result.state.trials()) {
    ++trials[step_of(trial.configuration)];
    // Straight trains its trials to the end at once, whatever they report.
    if (trial.created_by == SuggestionRule::kStraight) continue;
    trained[step_of(trial.configuration)] += trial.trained_resource == 27 ? 1 : 0;
  }
  CHECK(trials.size() > 20);
  int most_trained = 0, most_tried = 0;
  for (const auto& [step, count] : trained) most_trained = std::max(most_trained, count);
  for (const auto& [step, count] : trials) most_tried = std::max(most_tried, count);
  CHECK(most_trained <= 4);  // two to learn that they stay the same, and what ran meanwhile
  CHECK(most_tried > 4);
  const std::vector<TrialState>& all = result.state.trials();
  CHECK(std::any_of(all.begin(), all.end(), [](const TrialState& trial) {
    return Contains(trial.reason, "and not resumed: it reported the same as trial ");
  }));
  CHECK(Verify(spec, result.facts).ok());
}

// Begins a part that ends at the rung; a new trial begins at the lowest.
void BeginPart(PlayedJob& job, TrialNumber number, int64_t rung) {
  const int64_t level = job.state().brackets()[0].rungs[static_cast<size_t>(rung)].resource;
  if (number == job.state().next_trial()) {
    job.Record(TrialCreated{number, {0.1 * static_cast<double>(number), 0.5}, 0, rung, level, "given"});
  } else {
    job.Record(TrialResumed{number, rung, level, "given"});
  }
  job.Record(AttemptStarted{number, job.trial(number).attempts + 1, job.trial(number).checkpoint, level});
}

void TrainToRung(PlayedJob& job, TrialNumber number, int64_t rung, double score) {
  BeginPart(job, number, rung);
  const TrialState& trial = job.trial(number);
  if (job.state().spec().has_several_objectives())
    job.Record(Reported{number, trial.attempts, trial.to, 1.0, 1});
  job.Finish(number, score);
}

TEST_CASE("Freeze-thaw: where a trial is stopped or lost, the next of its duplicates goes on",
          "[scheduler]") {
  for (const bool several : {false, true}) {
    for (const bool lost : {false, true}) {
      CAPTURE(several, lost);
      SearchSpec spec = FreezeThawJob(0);
      spec.limits.max_lost_attempts = 1;
      if (several) {
        spec.objectives = {{"score", Goal::kMaximize, {}}, {"size", Goal::kMinimize, {}}};
        spec.objective_value = ObjectiveValue::kLast;
      }
      PlayedJob job(spec);
      // Two pairs stay the same: duplicates are believed.
      for (TrialNumber n = 1; n <= 4; ++n) {
        TrainToRung(job, n, 0, n <= 2 ? 0.5 : 0.4);
        TrainToRung(job, n, 1, n <= 2 ? 0.6 : 0.45);
      }
      TrainToRung(job, 1, 2, 0.7);
      for (TrialNumber n = 5; n <= 7; ++n) TrainToRung(job, n, 0, 0.9);
      const RungState& rung = job.state().brackets()[0].rungs[0];
      REQUIRE(job.state().duplicates().OriginalOf(6) == 5);
      REQUIRE(job.state().duplicates().OriginalOf(7) == 5);
      REQUIRE(rung.best_waiting() == 5);
      if (lost) {
        BeginPart(job, 5, 1);
        job.End(5, AttemptOutcome::kLost, "The worker was silent.");
        REQUIRE(job.trial(5).phase == TrialPhase::kFailed);
      } else {
        job.Record(TrialStopRequested{5, "ann", "of no use"});
        REQUIRE(job.trial(5).phase == TrialPhase::kPruned);
      }
      CHECK_FALSE(job.state().duplicates().IsDuplicate(6));
      CHECK(job.state().duplicates().OriginalOf(7) == 6);
      CHECK(rung.best_waiting() == 6);
      const auto promotion = AshaPruner().Promote(job.state());
      REQUIRE(promotion);
      CHECK(promotion->trial == 6);
      if (!several) {
        const TrialModel model(job.state());
        CHECK(std::any_of(model.known().begin(), model.known().end(),
                          [](const TrialModel::Known& known) { return known.trial == 6; }));
      }
      job.Record(CompletionMet{"Enough.", true});
      CHECK(Contains(job.trial(6).reason, ", and not resumed: Enough."));
      CHECK(Contains(job.trial(7).reason, ", and not resumed: it reported the same as trial 6, which shows"));
    }
  }
}

TEST_CASE("Freeze-thaw: a trial that fails by itself shows how its duplicates would go on", "[scheduler]") {
  PlayedJob job(FreezeThawJob(0));
  for (TrialNumber n = 1; n <= 4; ++n) {
    TrainToRung(job, n, 0, n <= 2 ? 0.5 : 0.4);
    TrainToRung(job, n, 1, n <= 2 ? 0.6 : 0.45);
  }
  for (TrialNumber n = 5; n <= 6; ++n) TrainToRung(job, n, 0, 0.9);
  BeginPart(job, 5, 1);
  job.Report(5, 2, kNaN);
  REQUIRE(job.trial(5).phase == TrialPhase::kFailed);
  CHECK(job.state().duplicates().OriginalOf(6) == 5);
  CHECK_FALSE(job.state().brackets()[0].rungs[0].best_waiting());
}

TEST_CASE("Freeze-thaw: only the model trains on what training makes worse on the front", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(0);
  spec.objectives = {{"error", Goal::kMinimize, 0.9}, {"size", Goal::kMinimize, 9.0}};
  spec.objective_metric = "error";
  spec.goal = Goal::kMinimize;
  spec.objective_value = ObjectiveValue::kLast;
  spec.limits.max_total_resource = 12 * 27;
  Simulation simulation = Slots(1);
  simulation.objective = [](const Configuration& c, int64_t level) { return 1 - Curve(c, level); };
  simulation.further = [](const Configuration& c, int64_t level, int64_t) -> std::optional<double> {
    return std::log(static_cast<double>(level)) + 3 * std::get<double>(c[1]);
  };
  const SimulationResult result = Simulate(spec, simulation);
  JobState state(result.state.spec());
  const std::vector<Objective>& goals = state.spec().objectives;
  int by_rank = 0, by_model = 0;
  for (const Fact& fact : result.facts) {
    const auto* suggested = std::get_if<Suggested>(&fact.body);
    if (suggested != nullptr && suggested->trial > 0 && suggested->configuration.empty()) {
      const bool on_front =
          std::any_of(state.front().begin(), state.front().end(), [&](const Standing& member) {
            return member.number == suggested->trial && member.keys[0] < *goals[0].threshold &&
                   member.keys[1] < *goals[1].threshold;
          });
      // Its size has grown, if it has passed a rung.
      const bool worse = on_front && state.trial(suggested->trial).rung > 0;
      const bool model = suggested->rule == SuggestionRule::kModel;
      if (!model) REQUIRE_FALSE(worse);
      by_rank += model ? 0 : 1;
      by_model += model && worse ? 1 : 0;
    }
    state.Apply(fact);
  }
  REQUIRE(by_rank > 0);
  REQUIRE(by_model > 0);
}

TEST_CASE("Freeze-thaw: a single rung, and values that are no numbers", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(15);
  spec.pruner.rungs = {9, 9, 3};
  SimulationResult result = Run(spec, 2);
  CHECK(result.state.totals().completed == 15);
  CHECK(Verify(spec, result.facts).ok());

  spec = FreezeThawJob(15);
  Simulation simulation = Slots(2);
  simulation.objective = [](const Configuration&, int64_t) { return std::nan(""); };
  result = Simulate(spec, simulation);
  CHECK_FALSE(result.stalled);
  CHECK(result.state.ended()->end == JobEnd::kFailed);
  CHECK(result.state.trials().size() == 15);
}

TEST_CASE("Freeze-thaw: where the best beginnings diverge, it searches among the others", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(0);
  spec.limits.max_total_resource = 20 * 27;
  Simulation simulation = Slots(1);
  simulation.objective = [](const Configuration& configuration, int64_t resource) {
    const double x = std::get<double>(configuration[0]);
    if (x > 0.5) return resource < 3 ? 2.0 + x : kNaN;
    return -std::abs(x - 0.3) - 1 / static_cast<double>(resource);
  };
  const SimulationResult result = Simulate(spec, simulation);
  double best = -1;
  int64_t after = 0;
  for (const TrialState& trial : result.state.trials()) {
    const double x = std::get<double>(trial.configuration[0]);
    if (trial.phase == TrialPhase::kCompleted) best = std::max(best, trial.value);
    if (x > 0.5) after += std::max<int64_t>(0, trial.trained_resource - 3);
  }
  CHECK(best > -0.1);
  CHECK(after == 0);
}

TEST_CASE("Freeze-thaw: once start-up is known, a part takes as long as it, or ends its trial",
          "[scheduler]") {
  const SearchSpec spec = FreezeThawJob(30);
  const SimulationResult result = RunStarting(spec, 10);
  JobState state(spec);
  int64_t known = 0;
  for (const Fact& fact : result.facts) {
    const auto* suggested = std::get_if<Suggested>(&fact.body);
    if (suggested != nullptr && suggested->trial > 0 && state.startup().seconds()) {
      const bool goes_on = suggested->configuration.empty();
      const int64_t units = suggested->to - (goes_on ? state.trial(suggested->trial).checkpoint : 0);
      CHECK((units >= 8 || suggested->to == 27));
      ++known;
    }
    state.Apply(fact);
  }
  CHECK(state.startup().Units(27, false) == 8);
  CHECK(known > 20);
  CHECK(state == result.state);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Freeze-thaw: a promotion that skips a rung for its start-up says so", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(12);
  spec.pruner.rungs = {3, 81, 3};
  // Three trials come to the lowest rung before anything is known; the best of them goes on past the next.
  const SimulationResult result = RunStarting(spec, 10, 3);
  const auto skips = [](const Fact& fact) {
    const auto* resumed = std::get_if<TrialResumed>(&fact.body);
    return resumed != nullptr && resumed->to == 27 &&
           Contains(resumed->reason,
                    "; goes on to resource 9 at least, and to 27 since a part costs 8 units to start.");
  };
  CHECK(std::any_of(result.facts.begin(), result.facts.end(), skips));
}

TEST_CASE("Freeze-thaw: where starting is slow fewer parts train more each", "[scheduler]") {
  const SearchSpec spec = FreezeThawJob(30);
  const SimulationResult quick = RunStarting(spec, 0.1, 2), slow = RunStarting(spec, 10, 2);
  const auto units_a_part = [](const SimulationResult& result) {
    return static_cast<double>(result.state.totals().resource) / static_cast<double>(PartsOf(result).size());
  };
  CHECK(units_a_part(slow) > 2 * units_a_part(quick));
  CHECK(slow.startup_slot_seconds < 0.5 * slow.busy_slot_seconds);
}

TEST_CASE("Freeze-thaw: where time alone limits the job, the first second counts too", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(0);
  spec.limits.max_total_resource = 0;
  spec.limits.max_wall_time_us = 1;
  Simulation simulation = Slots(1);
  simulation.start_seconds = 2;
  simulation.wall_time_seconds = 300;
  const SimulationResult timed = Simulate(spec, simulation);
  spec.limits.max_trials = 1000;
  const SimulationResult free = Simulate(spec, simulation);
  const auto units_a_part = [](const SimulationResult& result) {
    return static_cast<double>(result.state.totals().resource) / static_cast<double>(PartsOf(result).size());
  };
  CHECK(timed.state.startup().Units(27, true) == 2);
  CHECK(free.state.startup().Units(27, false) == 1);
  CHECK(units_a_part(timed) > 1.3 * units_a_part(free));
  CHECK(Verify(spec, free.facts).ok());
}

TEST_CASE("Freeze-thaw: a start of a second is none, so that such a job can be had again", "[scheduler]") {
  const SearchSpec spec = FreezeThawJob(20);
  CHECK(SameParts(RunStarting(spec, 0), RunStarting(spec, 0.9)));
  CHECK_FALSE(SameParts(RunStarting(spec, 0), RunStarting(spec, 10)));
}

TEST_CASE("Freeze-thaw: where a start costs more than a whole trial, trials are trained to their end at once",
          "[scheduler]") {
  const SimulationResult result = RunStarting(FreezeThawJob(20), 1000);
  const std::vector<AttemptStarted> parts = PartsOf(result);
  CHECK(std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part.to < 27; }) < 6);
}

TEST_CASE("Start-up changes no table: ASHA and Hyperband run what they run", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(40);
  spec.sampler.kind = SamplerKind::kSobol;
  for (const PrunerKind kind : {PrunerKind::kAsha, PrunerKind::kHyperband, PrunerKind::kSuccessiveHalving}) {
    spec.pruner.kind = kind;
    CHECK(SameParts(RunStarting(spec, 0), RunStarting(spec, 100)));
  }
}

TEST_CASE("Freeze-thaw: one sentence with numbers explains each choice", "[scheduler]") {
  SearchSpec spec = FreezeThawJob(60);
  std::map<bool, int> kinds;
  for (const Fact& fact : Run(spec, 2).facts) {
    const auto* suggested = std::get_if<Suggested>(&fact.body);
    if (suggested == nullptr) continue;
    const std::string& why = suggested->why;
    CAPTURE(why);
    CHECK(why.back() == '.');
    CHECK_FALSE(Contains(why, ". "));
    CHECK_FALSE(Contains(why, ".."));
    CHECK_FALSE(Contains(why, "nan"));
    CHECK_FALSE(Contains(why, "inf"));
    CHECK_FALSE(Contains(why, "-0 "));
    CHECK(why.size() < 300);
    if (Contains(why, "expected score ") && Contains(why, "gain per unit")) {
      CHECK(Contains(why, " at resource 27, "));
      CHECK(Contains(why, " % chance to beat "));
      ++kinds[suggested->configuration.empty()];
    }
  }
  CHECK(kinds[true] > 0);
  CHECK(kinds[false] > 0);
}

}  // namespace
}  // namespace winnow
