#include "scheduler/changes.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "scheduler/replay.h"
#include "scheduler/samplers/random.h"
#include "scheduler/space/range_change.h"
#include "tests/catch.h"
#include "tests/scheduler/checked_job.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// Another range of one parameter, narrower or wider at either end, or with other values.
RangeChanged DrawRange(const JobState& state, const std::function<int64_t(uint64_t)>& below) {
  const std::vector<Parameter>& parameters = state.spec().parameters;
  const Parameter& parameter = parameters[static_cast<size_t>(below(parameters.size()))];
  std::vector<Value> values = ValuesOf(parameter.range);
  if (IsListed(parameter.range)) {
    if (below(2) == 0 && values.size() > 1) {
      values.erase(values.begin() + below(values.size()));
    } else if (std::holds_alternative<DiscreteRange>(parameter.range)) {
      values.emplace_back(std::get<double>(values.back()) + 0.25);
    } else {
      values.emplace_back("more" + std::to_string(below(4)));
    }
  } else if (const auto* integer = std::get_if<IntegerRange>(&parameter.range)) {
    const int64_t min = std::max<int64_t>(1, integer->min + below(5) - 2);
    values = {min, std::max(min, integer->max + below(5) - 2)};
  } else {
    const auto& real = std::get<ContinuousRange>(parameter.range);
    const double width = real.max - real.min;
    const double min = real.min + width * 0.1 * static_cast<double>(below(7) - 2);
    values = {min, std::max(min, real.max - width * 0.1 * static_cast<double>(below(7) - 2))};
  }
  return {"ana", "", parameter.name, std::move(values), IsListed(parameter.range)};
}

// Whether a job could have been submitted with the changed range, but for conditions that never hold.
bool IsSound(const JobState& state, const RangeChanged& change) {
  if (state.grid() != nullptr || !ChangedRange(state.spec(), change)) return false;
  if (!CheckRange(state, change).empty()) return false;
  SearchSpec spec = state.SearchAfter(change).spec;
  spec.initial.clear();
  for (const Violation& violation : ValidateSearch(spec)) {
    if (violation.field.find(".condition.values") == std::string::npos) return false;
  }
  return true;
}

// Changes of any kind at any times, and at last one that lets a paused job go on.
std::vector<Simulation::Change> DrawChanges(uint64_t number) {
  std::mt19937_64 draw(number);
  const auto below = [](std::mt19937_64& from, uint64_t n) { return static_cast<int64_t>(from() % n); };
  std::vector<double> times;
  for (int64_t i = below(draw, 12) + 1; i > 0; --i)
    times.push_back(static_cast<double>(below(draw, 3000)) / 10);
  std::sort(times.begin(), times.end());
  std::vector<Simulation::Change> changes;
  for (const double at : times) {
    changes.push_back(
        {at, [of = std::mt19937_64(draw()), below](const JobState& state) mutable -> std::optional<FactBody> {
           switch (below(of, 12)) {
             case 0:
               return JobPaused{"ana", "a check"};
             case 1:
               return JobResumed{"ana", ""};
             case 2: {
               const Limits& now = state.spec().limits;
               LimitsChanged change{
                   "", "", now.max_trials, now.max_parallel_trials, now.max_total_resource, 0, 0, 0};
               const int64_t created = state.next_trial() - 1;
               if (below(of, 2) == 0) change.max_trials = created + below(of, 20);
               if (below(of, 2) == 0) change.max_parallel_trials = below(of, 4);
               if (below(of, 3) == 0) change.max_total_resource = state.totals().resource + below(of, 400);
               if (!CheckLimits(state, change).empty()) return std::nullopt;
               return change;
             }
             case 3:
               if (state.trials().empty()) return std::nullopt;
               return TrialStopRequested{below(of, state.trials().size()) + 1, "ana", "slow"};
             case 4:
               return SchedulingChanged{"ana", "", below(of, 9) - 4, 1};
             case 5:
             case 6:
             case 7: {
               RangeChanged change = DrawRange(state, [&](uint64_t n) { return below(of, n); });
               if (!IsSound(state, change)) return std::nullopt;
               return change;
             }
             case 8:
             case 9: {
               if (state.trials().empty()) return std::nullopt;
               const TrialNumber trial = below(of, state.trials().size()) + 1;
               return TrialKept{trial, "ana", "slow", state.trial(trial).kept};
             }
             default: {
               if (state.exhausted()) return std::nullopt;
               const Configuration wanted = AnyConfiguration(state, 1000 + below(of, 1000));
               if (!CheckEnqueued(state, wanted).empty()) return std::nullopt;
               return ConfigurationEnqueued{wanted, "ana", ""};
             }
           }
         }});
  }
  changes.push_back({1e6, [](const JobState&) { return JobResumed{"", "the end"}; }});
  return changes;
}

// Has the job go on once or twice after its end, where something is left to train.
std::function<std::vector<FactBody>(const JobState&)> DrawContinuations(uint64_t number) {
  return [draw = std::mt19937_64(number),
          left = static_cast<int64_t>(number % 3)](const JobState& state) mutable -> std::vector<FactBody> {
    if (left-- <= 0) return {};
    const JobContinued continued{"ana", "more"};
    const auto more = static_cast<int64_t>(draw() % 10 + 1);
    const Limits& now = state.spec().limits;
    LimitsChanged change{"ana", "more", state.next_trial() - 1 + more, now.max_parallel_trials, 0, 0, 0, 0};
    if (draw() % 2 == 0) change.max_total_resource = state.totals().resource + 100 * more;
    if (!CheckContinued(state, continued, change).empty()) change.max_trials = now.max_trials;
    if (!CheckContinued(state, continued, change).empty()) return {};
    return {continued, change};
  };
}

// While a job is paused nothing starts, and at most as many run as the newest limit allows.
void CheckStarts(const SearchSpec& spec, const std::vector<Fact>& facts) {
  JobState state(spec);
  for (const Fact& fact : facts) {
    if (std::holds_alternative<AttemptStarted>(fact.body)) {
      REQUIRE_FALSE(state.paused());
      const int64_t most = state.spec().limits.max_parallel_trials;
      if (most > 0) REQUIRE(state.totals().live_attempts < most);
    }
    state.Apply(fact);
  }
}

struct RangeCounts {
  int64_t outside = 0;  // trials that a changed range leaves out
  int64_t wider = 0;    // trials with values that the submitted ranges do not have
};

// Whatever is suggested after a change lies in the ranges as they are then, and every trial in the known
// space.
void CheckRanges(const SearchSpec& spec, const std::vector<Fact>& facts, RangeCounts& counts) {
  JobState state(spec);
  const SearchSpace submitted(spec.parameters, spec.constraints);
  for (const Fact& fact : facts) {
    if (const auto* answer = std::get_if<Suggested>(&fact.body); answer && !answer->configuration.empty())
      REQUIRE(state.space().Holds(answer->configuration));
    state.Apply(fact);
    if (std::holds_alternative<RangeChanged>(fact.body)) {
      for (const TrialState& trial : state.trials()) {
        REQUIRE(state.known_space().Holds(trial.configuration));
        counts.outside += !state.space().Holds(trial.configuration);
      }
    }
    if (const auto* created = std::get_if<TrialCreated>(&fact.body))
      counts.wider += !submitted.Holds(created->configuration);
  }
}

TEST_CASE("Changes: 1000 random sequences of them replay to the bit, and break no budget", "[scheduler]") {
  std::map<size_t, int64_t> made;  // by kind
  int64_t tried = 0;               // enqueued configurations
  RangeCounts counts;
  const int slots[] = {1, 4, 64};
  std::vector<std::pair<AnyJob, uint64_t>> jobs;
  for (uint64_t number = 0; number < 1000; ++number)
    jobs.emplace_back(DrawJob(number, slots[number % 3]), number);
  for (const SamplerKind sampler : kSamplers) {
    for (const PrunerKind pruner : kPruners) {
      if (!AsksModel({sampler, pruner}) || !GoTogether({sampler, pruner})) continue;
      for (uint64_t number = 0; number < 4; ++number)
        jobs.emplace_back(DrawJob(number, slots[number % 3], Strategy{sampler, pruner}), 5000 + number);
    }
  }
  for (auto& [job, number] : jobs) {
    CAPTURE(number);
    job.simulation.changes = DrawChanges(number);
    job.simulation.on_ended = DrawContinuations(number);
    const SimulationResult result = PlayAndCheck(job);
    CheckStarts(job.spec, result.facts);
    CheckRanges(job.spec, result.facts, counts);
    std::set<Configuration> enqueued;
    for (const Fact& fact : result.facts) {
      if (IsChange(fact.body)) ++made[fact.body.index()];
      if (const auto* one = std::get_if<ConfigurationEnqueued>(&fact.body))
        enqueued.insert(one->configuration);
    }
    std::set<TrialNumber> stopped;
    for (const Fact& fact : result.facts) {
      if (const auto* stop = std::get_if<TrialStopRequested>(&fact.body)) stopped.insert(stop->trial);
    }
    for (const TrialState& trial : result.state.trials()) {
      if (trial.kept && stopped.count(trial.number) == 0) REQUIRE(trial.phase != TrialPhase::kPruned);
    }
    for (const TrialState& trial : result.state.trials()) tried += enqueued.count(trial.configuration) > 0;
  }
  CHECK(made.size() == 9);
  for (const auto& [kind, count] : made) CHECK(count > 50);
  CHECK(tried > 100);
  CHECK(counts.outside > 100);
  CHECK(counts.wider > 100);
}

TEST_CASE("Changes: a limit is never below what it limits already, and brackets stay as planned",
          "[scheduler]") {
  const SearchSpec spec = RandomJob(10, 5);
  Simulation simulation = Slots(2);
  std::vector<Violation> found;
  simulation.changes.push_back({7, [&found](const JobState& state) -> std::optional<FactBody> {
                                  LimitsChanged low{"", "", 1, 0, 3, 0, 0, -1};
                                  found = CheckLimits(state, low);
                                  return std::nullopt;
                                }});
  Simulate(spec, simulation);
  std::vector<std::string> fields;
  for (const Violation& violation : found) fields.push_back(violation.field);
  CHECK(fields ==
        std::vector<std::string>{"limits.max_trials", "limits.max_total_resource", "limits.max_cost"});

  const JobState planned(HyperbandJob(81, 3, 50));
  const auto refused = CheckLimits(planned, {"", "", 60, 0, 0, 0, 0, 0});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].field == "limits.max_trials");
  CHECK(CheckLimits(planned, {"", "", 50, 4, 0, 0, 0, 0}).empty());
}

TEST_CASE("Changes: a limit is never above what a new job may have", "[scheduler]") {
  const JobState state(RandomJob(10, 5));
  CHECK(CheckLimits(state, {"", "", 1'000'000, 1'000'000, 1'000'000'000'000'000, 0, 0, 0}).empty());
  std::string fields;
  for (const Violation& violation : CheckLimits(state, {"", "", INT64_MAX, INT64_MAX, INT64_MAX, 0, 0, 0})) {
    fields += violation.field + " ";
    CHECK_THAT(violation.description,
               Catch::Contains("9223372036854775807") && Catch::Contains("at most 1000000"));
  }
  CHECK(fields == "limits.max_trials limits.max_parallel_trials limits.max_total_resource ");
}

TEST_CASE("Changes: the only limit that ends a job cannot be removed", "[scheduler]") {
  const JobState endless(RandomJob(10, 5));
  const auto refused = CheckLimits(endless, {"", "", 0, 4, 0, 0, 0, 9});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].field == "limits");
  CHECK_THAT(refused[0].description, Catch::Contains("none that ends the job; expected max_trials"));
  CHECK(CheckLimits(endless, {"", "", 0, 0, 100, 0, 0, 0}).empty());
  CHECK(CheckLimits(endless, {"", "", 0, 0, 0, 1'000'000, 0, 0}).empty());

  SearchSpec finite = RandomJob(10, 5);
  for (Parameter& parameter : finite.parameters) parameter.range = DiscreteRange{{0.1, 0.2, 0.3, 0.4}};
  CHECK(CheckLimits(JobState(finite), {"", "", 0, 0, 0, 0, 0, 0}).empty());
}

TEST_CASE("Changes: a range that leaves nothing to try, or other brackets, is refused", "[scheduler]") {
  SearchSpec spec = RandomJob(10, 5);
  spec.constraints.push_back({{{0, 1.0}}, 0.5, 1.0});
  JobState state(spec);
  const std::string name = spec.parameters[0].name;
  const auto below = CheckRange(state, {"", "", name, {0.0, 0.25}, false});
  REQUIRE(below.size() == 1);
  CHECK_THAT(below[0].description, Catch::Contains("leaves no configuration that keeps the constraints"));
  CHECK(CheckRange(state, {"", "", name, {0.5, 0.75}, false}).empty());
  state.Apply({1, 0, ConfigurationEnqueued{{0.875}, "ana", ""}});
  CHECK_THAT(CheckRange(state, {"", "", name, {0.5, 0.75}, false})[0].description,
             Catch::Contains("leaves out a configuration that is enqueued"));

  SearchSpec finite = HyperbandJob(27, 3);
  finite.parameters[0].range = DiscreteRange{{0.1, 0.2, 0.3, 0.4}};
  const JobState planned(finite);
  CHECK_THAT(CheckRange(planned, {"", "", finite.parameters[0].name, {0.1, 0.2}, true})[0].description,
             Catch::Contains("brackets of the job were planned"));
}

TEST_CASE("Changes: a range of another kind, upside down or against its scaling is no fact of the job",
          "[scheduler]") {
  SearchSpec spec = RandomJob(10, 5);
  const std::string name = spec.parameters[0].name;
  spec.parameters[0].range = ContinuousRange{0.1, 1, Scaling::kLog};
  spec.parameters.push_back({"kind", CategoricalRange{{"tree", "line"}}});
  const JobState state(spec);
  const auto refused = [&state](const std::string& parameter, std::vector<Value> values, bool listed) {
    return !state.Contradiction({1, 0, RangeChanged{"", "", parameter, std::move(values), listed}}).empty();
  };
  CHECK_FALSE(refused(name, {0.2, 2.0}, false));
  CHECK(refused(name, {0.0, 2.0}, false));
  CHECK(refused(name, {2.0, 0.2}, false));
  CHECK(refused(name, {int64_t{1}, int64_t{2}}, false));
  CHECK(refused(name, {0.2, 0.3, 0.4}, false));
  CHECK(refused(name, {0.2, 0.3}, true));
  CHECK(refused("other", {0.2, 2.0}, false));
  CHECK_FALSE(refused("kind", {std::string("line"), std::string("plane")}, true));
  CHECK(refused("kind", {std::string("line"), std::string("line")}, true));
  CHECK(refused("kind", {}, true));
}

TEST_CASE("Changes: a search model keeps what it knows beyond a narrowed range, and suggests nothing there",
          "[scheduler]") {
  // The best is at 0.3. The trials beyond the narrowed range tell the model where to look at once.
  SearchSpec spec = RandomJob(24, 1);
  spec.sampler.kind = SamplerKind::kGp;
  spec.goal = Goal::kMaximize;
  const std::string name = spec.parameters[0].name;
  Simulation simulation = Slots(1);
  simulation.objective = [](const Configuration& configuration, int64_t) {
    const double x = std::get<double>(configuration[0]) - 0.3;
    return -x * x;
  };
  simulation.changes.push_back({12, [&name](const JobState&) {
                                  return RangeChanged{"ana", "", name, {0.25, 0.5}, false};
                                }});
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(Verify(spec, result.facts).ok());
  JobState state(spec);
  int64_t after = 0;
  for (const Fact& fact : result.facts) {
    const auto* created = std::get_if<TrialCreated>(&fact.body);
    if (created != nullptr && state.ranges_changed()) {
      const double x = std::get<double>(created->configuration[0]);
      CHECK(x >= 0.25);
      CHECK(x <= 0.5);
      CHECK_THAT(created->why,
                 Catch::Contains("Gaussian process on " + std::to_string(state.trials().size())));
      ++after;
    }
    state.Apply(fact);
  }
  CHECK(after > 5);
}

TEST_CASE("Changes: a trial that is stopped counts as pruned, and says by whom", "[scheduler]") {
  const SearchSpec spec = RandomJob(4, 50);
  Simulation simulation = Slots(1);
  simulation.changes.push_back({5, [](const JobState&) { return TrialStopRequested{1, "ana", "too slow"}; }});
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(result.state.trial(1).phase == TrialPhase::kPruned);
  CHECK(result.state.trial(1).reason == "Stopped by ana: too slow.");
  CHECK(result.state.trial(1).trained_resource < 50);
  CHECK(result.state.totals().completed == 3);
}

TEST_CASE("Changes: an enqueued configuration is tried next, after the job's own", "[scheduler]") {
  SearchSpec spec = RandomJob(5, 3);
  spec.initial = {{0.5}, {0.25}};
  Simulation simulation = Slots(1);
  simulation.changes.push_back({0.5, [](const JobState&) {
                                  return ConfigurationEnqueued{{0.125}, "ana", ""};
                                }});
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(result.state.trial(2).configuration == Configuration{0.25});
  CHECK(result.state.trial(3).configuration == Configuration{0.125});
  CHECK(result.state.queue().empty());
  CHECK(result.state.trials().size() == 5);
}

TEST_CASE("Changes: what is enqueued while a model waits for the others is tried from the lowest rung",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  spec.limits.max_total_resource = 200;
  int64_t enqueued = 0;
  Simulation simulation = Slots(4);
  for (double at = 0.25; at < 300; at += 0.5) {
    simulation.changes.push_back({at, [&enqueued](const JobState& state) -> std::optional<FactBody> {
                                    const auto& answer = state.suggestion();
                                    if (!answer || answer->trial != 0) return std::nullopt;
                                    const Configuration wanted = {static_cast<double>(++enqueued) / 1e4};
                                    if (!CheckEnqueued(state, wanted).empty()) return std::nullopt;
                                    return ConfigurationEnqueued{wanted, "ana", ""};
                                  }});
  }
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(enqueued > 0);
  CHECK_FALSE(result.stalled);
  CHECK(result.state.totals().resource <= 200);
  for (const Fact& fact : result.facts) {
    const auto* created = std::get_if<TrialCreated>(&fact.body);
    if (created != nullptr &&
        std::get<double>(created->configuration[0]) <= static_cast<double>(enqueued) / 1e4)
      CHECK(created->to == 1);
  }
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Changes: a refused configuration is refused with the reason and what to do", "[scheduler]") {
  const auto refusal = [](const SearchSpec& spec) {
    const SimulationResult result = Simulate(spec, Slots(2));
    const auto violations = CheckEnqueued(result.state, {0.125});
    return violations.empty() ? "" : violations[0].description;
  };
  CHECK(refusal(RandomJob(5, 3)) ==
        "the job has all of its 5 trials; expected a higher limits.max_trials first");
  CHECK(refusal(HyperbandJob(9, 3)) == "all 17 trials of the job's brackets exist; expected another job");
}

TEST_CASE("Changes: a job that ended goes on within higher limits, and says what leaves nothing to train",
          "[scheduler]") {
  const SearchSpec spec = RandomJob(4, 5);
  JobState ended = Simulate(spec, Slots(2)).state;
  REQUIRE(ended.ended());
  const JobContinued continued{"ana", "two more"};
  const auto refused = CheckContinued(ended, continued, {"", "", 4, 0, 0, 0, 0, 0});
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused[0].description, Catch::Contains("leaves nothing to train: All 4 trials"));
  CHECK(CheckContinued(ended, continued, {"", "", 6, 0, 0, 0, 0, 0}).empty());

  for (const bool stopped : {false, true}) {
    CAPTURE(stopped);
    Simulation simulation = Slots(2);
    if (stopped) simulation.stop_after_seconds = 4;
    bool once = true;
    simulation.on_ended = [&once, &continued](const JobState&) -> std::vector<FactBody> {
      if (!std::exchange(once, false)) return {};
      return {continued, LimitsChanged{"ana", "", 6, 0, 0, 0, 0, 0}};
    };
    const SimulationResult result = Simulate(spec, simulation);
    CHECK(result.state.ended()->end == JobEnd::kCompleted);
    CHECK(result.state.trials().size() == 6);
    CHECK(result.state.totals().cancelled == (stopped ? 2 : 0));
    CHECK_FALSE(result.state.stop_requested());
    const SearchSpec six = RandomJob(6, 5);
    const SimulationResult calm = Simulate(six, Slots(2));
    for (TrialNumber n = 1; n <= 6; ++n)
      CHECK(result.state.trial(n).configuration == calm.state.trial(n).configuration);
  }
}

TEST_CASE(
    "Changes: a paused job starts nothing and does not end, and resumed, it does what it would have done",
    "[scheduler]") {
  const SearchSpec spec = RandomJob(6, 4);
  const SimulationResult calm = Simulate(spec, Slots(2));
  Simulation simulation = Slots(2);
  simulation.changes.push_back({1, [](const JobState&) { return JobPaused{"ana", ""}; }});
  std::optional<JobState> paused;
  simulation.changes.push_back({1000, [&paused](const JobState& state) {
                                  paused = state;
                                  return JobResumed{"ben", ""};
                                }});
  const SimulationResult result = Simulate(spec, simulation);
  REQUIRE(paused);
  CHECK(paused->trials().size() == 2);
  CHECK(paused->totals().live_attempts == 0);
  CHECK_FALSE(paused->ended());
  CHECK(result.state.ended()->end == JobEnd::kCompleted);
  REQUIRE(result.state.trials().size() == 6);
  for (TrialNumber n = 1; n <= 6; ++n)
    CHECK(result.state.trial(n).configuration == calm.state.trial(n).configuration);
}

}  // namespace
}  // namespace winnow
