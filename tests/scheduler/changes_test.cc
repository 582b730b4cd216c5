#include "scheduler/changes.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "scheduler/replay.h"
#include "scheduler/samplers/random.h"
#include "tests/catch.h"
#include "tests/scheduler/checked_job.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

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
           switch (below(of, 6)) {
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
  return [draw = std::mt19937_64(number), left = static_cast<int64_t>(number % 3)](
             const JobState& state) mutable -> std::vector<FactBody> {
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

TEST_CASE("Changes: 1000 random sequences of them replay to the bit, and break no budget", "[scheduler]") {
  std::map<size_t, int64_t> made;  // by kind
  int64_t tried = 0;               // enqueued configurations
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
    std::set<Configuration> enqueued;
    for (const Fact& fact : result.facts) {
      if (IsChange(fact.body)) ++made[fact.body.index()];
      if (const auto* one = std::get_if<ConfigurationEnqueued>(&fact.body))
        enqueued.insert(one->configuration);
    }
    for (const TrialState& trial : result.state.trials()) tried += enqueued.count(trial.configuration) > 0;
  }
  CHECK(made.size() == 6);
  for (const auto& [kind, count] : made) CHECK(count > 100);
  CHECK(tried > 100);
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

TEST_CASE("Changes: a paused job starts nothing and does not end; resumed, it does what it would have done",
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
