#include "scheduler/pruners/kept.h"

#include <algorithm>
#include <vector>

#include "scheduler/replay.h"
#include "tests/catch.h"
#include "tests/scheduler/checked_job.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

Simulation::Change Keep(double at_seconds, TrialNumber trial, bool released = false) {
  return {at_seconds, [trial, released](const JobState&) {
            return TrialKept{trial, "ana", released ? "" : "it starts slowly", released};
          }};
}

std::vector<FactBody> CutsOf(const SimulationResult& result) {
  std::vector<FactBody> cuts;
  for (const Fact& fact : result.facts) {
    if (std::holds_alternative<RungCut>(fact.body)) cuts.push_back(fact.body);
  }
  return cuts;
}

// A trial that the pruner ends at a low level without a word of anybody.
TrialNumber FirstPruned(const SimulationResult& result) {
  const auto& trials = result.state.trials();
  const auto found = std::find_if(trials.begin(), trials.end(), [](const TrialState& trial) {
    return trial.phase == TrialPhase::kPruned && trial.bracket <= 0;
  });
  REQUIRE(found != trials.end());
  return found->number;
}

TEST_CASE("Kept: HYPERBAND trains the trial to the top, beside a bracket whose cuts stay as they were",
          "[scheduler]") {
  const SearchSpec spec = HyperbandJob(27, 3);
  Simulation simulation = Slots(1);
  const SimulationResult calm = Simulate(spec, simulation);
  const TrialNumber weak = FirstPruned(calm);
  simulation.changes.push_back(Keep(2, weak));
  const SimulationResult result = PlayAndCheck({spec, simulation});
  const TrialState& kept = result.state.trial(weak);
  CHECK(kept.phase == TrialPhase::kCompleted);
  CHECK(kept.curve.back().first == 27);
  CHECK(kept.reason == "Trained to resource 27, beside the rungs. Kept by ana: it starts slowly.");
  CHECK(CutsOf(result) == CutsOf(calm));
  CHECK(result.state.totals().resource ==
        calm.state.totals().resource + 27 - calm.state.trial(weak).checkpoint);
  CHECK(result.state.totals().completed == calm.state.totals().completed + 1);
}

TEST_CASE("Kept: a trial that goes on only for that reason is pruned once it is released", "[scheduler]") {
  const SearchSpec spec = HyperbandJob(27, 3);
  Simulation simulation = Slots(1);
  const TrialNumber weak = FirstPruned(Simulate(spec, simulation));
  simulation.changes.push_back(Keep(2, weak));
  double beside_at = 0;
  const SimulationResult kept = Simulate(spec, simulation);
  JobState state(spec);
  for (const Fact& fact : kept.facts) {
    state.Apply(fact);
    if (beside_at == 0 && weak < state.next_trial() && state.trial(weak).beside && state.trial(weak).live)
      beside_at = static_cast<double>(fact.time_us) / 1e6;
  }
  REQUIRE(beside_at > 0);
  const double begun = static_cast<double>(kept.facts.front().time_us) / 1e6;
  simulation.changes.push_back(Keep(beside_at - begun + 3, weak, true));
  const SimulationResult result = PlayAndCheck({spec, simulation});
  CHECK(result.state.trial(weak).phase == TrialPhase::kPruned);
  CHECK(result.state.trial(weak).reason ==
        "It went on beside the rungs only because it was kept. Released by ana.");
  CHECK(result.state.trial(weak).curve.back().first < 27);
}

TEST_CASE("Kept: a trial that trains in a bracket that has ended is pruned once it is released",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);  // 27@1 9@3 3@9 1@27, then 12@3
  spec.pruner.stop_weak_brackets = true;
  spec.pruner.weak_bracket_level = 0.5;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 49);
  for (TrialNumber n = 1; n <= 27; ++n) job.Finish(n, 0.01 * static_cast<double>(n));
  REQUIRE(job.StartAll() == 9);
  for (TrialNumber n = 19; n <= 27; ++n) job.Finish(n, 0.01 * static_cast<double>(n));
  REQUIRE(job.StartAll() == 3);  // 25, 26 and 27, to 9
  job.Record(TrialKept{27, "ana", "it starts slowly", false});
  // The survivors of the second bracket are better than all of the first.
  for (TrialNumber n = 28; n <= 39; ++n) job.Finish(n, 1 + 0.01 * static_cast<double>(n));
  REQUIRE(job.state().brackets()[0].ended);
  CHECK(job.trial(26).phase == TrialPhase::kPruned);
  CHECK(job.trial(27).phase == TrialPhase::kRunning);
  job.Record(TrialKept{27, "ana", "", true});
  CHECK(job.trial(27).phase == TrialPhase::kPruned);
  CHECK(job.trial(27).reason == job.Newest<BracketEnded>().reason);
  CHECK(job.trial(27).reason == job.trial(26).reason);
}

TEST_CASE("Kept: no strategy prunes the trial, and what it needs is paid by the budget", "[scheduler]") {
  int64_t completed = 0;
  for (const SamplerKind sampler : {SamplerKind::kRandom, SamplerKind::kGp}) {
    for (const PrunerKind pruner : kPruners) {
      const Strategy strategy{sampler, pruner};
      if (!GoTogether(strategy) || (sampler == SamplerKind::kGp && pruner != PrunerKind::kFreezeThaw))
        continue;
      for (uint64_t number = 0; number < (AsksModel(strategy) ? 6 : 30); ++number) {
        CAPTURE(static_cast<int>(pruner), number);
        for (const bool several : {false, true}) {
          if (several && pruner != PrunerKind::kHyperband && pruner != PrunerKind::kAsha &&
              pruner != PrunerKind::kPbt)
            continue;
          AnyJob job = several ? DrawFrontJob(number, 4, strategy) : DrawJob(number, 4, strategy);
          for (TrialNumber trial = 1; trial <= 3; ++trial)
            job.simulation.changes.push_back(Keep(static_cast<double>(3 * trial), trial));
          const SimulationResult result = PlayAndCheck(job);
          for (const TrialState& trial : result.state.trials()) {
            if (!trial.kept) continue;
            CHECK(trial.phase != TrialPhase::kPruned);
            completed += trial.phase == TrialPhase::kCompleted;
          }
        }
      }
    }
  }
  CHECK(completed > 100);
}

TEST_CASE("Kept: the median rule and the stopping form of ASHA leave the trial alone", "[scheduler]") {
  for (const PrunerKind pruner : {PrunerKind::kMedian, PrunerKind::kAsha}) {
    CAPTURE(static_cast<int>(pruner));
    SearchSpec spec = RandomJob(12, 27);
    if (pruner == PrunerKind::kAsha) spec = HyperbandJob(27, 3, 12);
    spec.pruner.kind = pruner;
    spec.pruner.asha_form = AshaForm::kStopping;
    Simulation simulation = Slots(1);
    const TrialNumber weak = FirstPruned(Simulate(spec, simulation));
    simulation.changes.push_back({0.01, [](const JobState&) { return std::nullopt; }});
    for (double at = 1; at < 400; ++at) simulation.changes.push_back(Keep(at, weak));
    const SimulationResult result = Simulate(spec, simulation);
    CHECK(Verify(spec, result.facts).ok());
    CHECK(result.state.trial(weak).phase == TrialPhase::kCompleted);
    CHECK(result.state.trial(weak).curve.back().first == 27);
  }
}

}  // namespace
}  // namespace winnow
