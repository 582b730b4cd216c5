#include "scheduler/state/job_state.h"

#include <cmath>
#include <functional>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// Applies the facts in their order, a second apart.
JobState StateAfter(const SearchSpec& spec, const std::vector<FactBody>& bodies) {
  JobState state(spec);
  for (const FactBody& body : bodies) {
    const int64_t next = state.last_sequence() + 1;
    state.Apply({next, next * 1'000'000, body});
  }
  return state;
}

// One bracket 3@1 1@3, of which two trials have been created.
SearchSpec SmallJob() { return HyperbandJob(3, 3); }
TrialCreated Created(TrialNumber number) {
  return {number, {0.25 * static_cast<double>(number)}, 0, 0, 1, ""};
}
std::vector<FactBody> TwoCreated() { return {Created(1), Created(2)}; }
std::vector<FactBody> OneRunning() { return {Created(1), Created(2), AttemptStarted{1, 1, 0, 1}}; }
std::vector<FactBody> OnePaused() {
  return {Created(1),
          Created(2),
          AttemptStarted{1, 1, 0, 1},
          Reported{1, 1, 1, 0.5},
          AttemptEnded{1, 1, AttemptOutcome::kFinished, "", 3'500'000, 5'000'000},
          TrialPaused{1, 1}};
}

struct Effect {
  const char* what;
  std::vector<FactBody> before;
  FactBody fact;
  std::function<bool(const JobState&)> holds;
};

TEST_CASE("Job state: what each kind of fact does", "[scheduler]") {
  const std::vector<Effect> effects = {
      {"a report adds a point and its units", OneRunning(), Reported{1, 1, 1, 0.5},
       [](const JobState& s) {
         return s.trial(1).curve.at(1) == 0.5 && s.trial(1).value == 0.5 && s.totals().resource == 1 &&
                s.totals().reserved_resource == 0 && s.best_trial() == 1;
       }},
      {"a report that is no number is no best", OneRunning(), Reported{1, 1, 1, kNaN},
       [](const JobState& s) { return s.trial(1).curve.size() == 1 && !s.any_finite_objective(); }},
      {"a start takes the trial out of the queue", TwoCreated(), AttemptStarted{1, 1, 0, 1},
       [](const JobState& s) {
         return s.trial(1).phase == TrialPhase::kRunning && s.trial(1).live && s.pending().size() == 1 &&
                s.totals().live_attempts == 1 && s.totals().reserved_resource == 1 &&
                s.trial(1).started_us == 3'000'000;
       }},
      {"a failure is counted and gives back what was reserved", OneRunning(),
       AttemptEnded{1, 1, AttemptOutcome::kFailed, "exit code 1", 3'000'000, 3'500'000},
       [](const JobState& s) {
         return !s.trial(1).live && s.trial(1).failures == 1 && s.trial(1).training_us == 500'000 &&
                s.totals().reserved_resource == 0 && s.trial(1).phase == TrialPhase::kRunning;
       }},
      {"a loss is not a failure", OneRunning(), AttemptEnded{1, 1, AttemptOutcome::kLost, "", 0, 0},
       [](const JobState& s) { return s.trial(1).losses == 1 && s.trial(1).failures == 0; }},
      {"a lost checkpoint means from the beginning",
       [] {
         std::vector<FactBody> bodies = OnePaused();
         bodies.push_back(TrialResumed{1, 1, 3, ""});
         return bodies;
       }(),
       CheckpointLost{1}, [](const JobState& s) { return s.trial(1).checkpoint == 0; }},
      {"an origin need not wait for a trial that has its copy",
       [] {
         std::vector<FactBody> bodies = OnePaused();
         TrialCreated copy = Created(3);
         copy.rung = 1;
         copy.to = 3;
         copy.origin = 1;
         bodies.push_back(copy);
         return bodies;
       }(),
       CheckpointTaken{3},
       [](const JobState& s) { return !s.trial(3).has_to_take && s.trial(1).to_be_taken == 0; }},
      {"a request to stop closes the job", TwoCreated(), StopRequested{"enough"},
       [](const JobState& s) { return s.closing() && s.stop_requested() && s.stop_reason() == "enough"; }},
      {"a pause is kept", TwoCreated(), JobPaused{"ana", "why"},
       [](const JobState& s) { return s.paused() && !s.closing() && s.changes().size() == 1; }},
      {"and ends",
       [] {
         std::vector<FactBody> bodies = TwoCreated();
         bodies.push_back(JobPaused{"ana", ""});
         return bodies;
       }(),
       JobResumed{"ben", ""}, [](const JobState& s) { return !s.paused() && s.changes().size() == 2; }},
      {"changed limits are the job's", TwoCreated(), LimitsChanged{"", "", 40, 3, 99, 7, 8, 2.5},
       [](const JobState& s) {
         const Limits& limits = s.spec().limits;
         return s.limits_changed() && s.most_trials() == 40 && limits.max_parallel_trials == 3 &&
                limits.max_total_resource == 99 && limits.max_wall_time_us == 7 &&
                limits.max_node_time_us == 8 && limits.max_cost == 2.5;
       }},
      {"a request to stop a trial is kept; its end follows", TwoCreated(), TrialStopRequested{1, "ana", ""},
       [](const JobState& s) { return s.changes().size() == 1 && !s.trial(1).ended(); }},
      {"a trial is kept from being pruned", TwoCreated(), TrialKept{1, "ana", ""},
       [](const JobState& s) { return s.trial(1).kept && s.kept() == std::set<TrialNumber>{1}; }},
      {"a configuration waits in the queue", TwoCreated(), ConfigurationEnqueued{{0.75}, "ana", ""},
       [](const JobState& s) { return s.queue().size() == 1 && s.queue().front().by == "ana"; }},
      {"a changed share of the slots is kept", TwoCreated(), SchedulingChanged{"ana", "", 5, 2},
       [](const JobState& s) { return s.scheduling() && s.scheduling()->priority == 5; }},
      {"a narrower range is the space, and the known one stays", TwoCreated(),
       RangeChanged{"ana", "", "x", {0.25, 0.75}, false},
       [](const JobState& s) {
         return s.ranges_changed() && s.space().Holds({0.5}) && !s.space().Holds({0.875}) &&
                s.known_space().Holds({0.875}) && s.changes().size() == 1;
       }},
      {"so does a time limit", TwoCreated(), TimeLimitReached{TimeLimit::kNode},
       [](const JobState& s) { return s.closing() && s.time_limit() == TimeLimit::kNode; }},
      {"a part is paid by the time that it took, with its pool",
       [] {
         std::vector<FactBody> bodies = TwoCreated();
         bodies.push_back(AttemptStarted{1, 1, 0, 1, {"cpu", ""}, {7200, 3600}});
         return bodies;
       }(),
       AttemptEnded{1, 1, AttemptOutcome::kFinished, "", 1'000'000, 4'000'000},
       [](const JobState& s) {
         const std::map<std::string, PoolSpending> spent = {{"cpu", {3'000'000, 6}}};
         return s.totals().cost == 9 && s.pool_spending() == spent && s.priced_places().empty();
       }},
      {"a part that runs has its price", TwoCreated(), AttemptStarted{1, 1, 0, 1, {"cpu", ""}, {7200, 3600}},
       [](const JobState& s) {
         return s.totals().cost == 0 && s.priced_places().size() == 1 &&
                s.priced_places().begin()->second.per_hour() == 10'800;
       }},
      {"an earlier result is kept",
       {},
       EarlierResult{{0.5}, 0.75, 3, "old"},
       [](const JobState& s) {
         return s.earlier_results().size() == 1 && s.earlier_results()[0].objective == 0.75;
       }},
      {"a notice is kept with its time", TwoCreated(), Noticed{1, NoticeKind::kBeyondBudget, "too long"},
       [](const JobState& s) {
         return s.noticed(NoticeKind::kBeyondBudget) && s.notices()[0].second == 3'000'000 && !s.closing();
       }},
      {"a suggestion waits to be followed", TwoCreated(),
       Suggested{3, {0.5}, 2, "", {1.5}, SuggestionRule::kExplore, 9},
       [](const JobState& s) {
         return s.suggestion()->trial == 3 && s.model() == std::vector<double>{1.5} &&
                s.suggested_units(SuggestionRule::kExplore) == 9 &&
                s.suggested_parts(SuggestionRule::kExplore) == 1;
       }},
      {"a new trial waits in the queue and fills its rung",
       {Created(1)},
       Created(2),
       [](const JobState& s) {
         return s.trial(2).phase == TrialPhase::kPending && s.totals().pending == 2 &&
                s.pending().begin()->second == 1 && s.brackets()[0].rungs[0].entered.size() == 2 &&
                s.trial(2).created_us == 2'000'000;
       }},
      {"a resumed trial enters its next rung", OnePaused(), TrialResumed{1, 1, 3, ""},
       [](const JobState& s) {
         return s.trial(1).rung == 1 && s.trial(1).to == 3 && s.trial(1).checkpoint == 1 &&
                s.brackets()[0].rungs[1].entered == std::vector<TrialNumber>{1};
       }},
      {"a paused trial has arrived at its rung", OneRunning(), TrialPaused{1, 1},
       [](const JobState& s) {
         return s.trial(1).phase == TrialPhase::kPaused && s.brackets()[0].rungs[0].arrived == 1 &&
                s.totals().paused == 1 && s.totals().running == 0;
       }},
      {"a trial that is stopped was pruned", OnePaused(), TrialEnded{1, TrialEnd::kStopped, "ranked last"},
       [](const JobState& s) {
         return s.trial(1).phase == TrialPhase::kPruned && s.trial(1).reason == "ranked last" &&
                s.trial(1).ended_us == 7'000'000 && s.completion_index().ended() == 1;
       }},
      {"one that has failed is no best any more", OnePaused(), TrialEnded{1, TrialEnd::kFailed, "no disk"},
       [](const JobState& s) {
         return s.trial(1).phase == TrialPhase::kFailed && !s.best_trial() &&
                s.failures().by_reason().at("no disk").first == 1;
       }},
      {"a cut leaves its paused trials undecided", OnePaused(), RungCut{0, 0, 1, {1}, 1, 0.5},
       [](const JobState& s) {
         const RungState& rung = s.brackets()[0].rungs[0];
         return rung.cut && rung.promoted == 1 && rung.cutoff == 0.5 && s.undecided() == 1;
       }},
      {"a cut that promotes none has no cut-off", OnePaused(), RungCut{0, 0, 1, {1}, 0, kNaN},
       [](const JobState& s) { return s.brackets()[0].rungs[0].cut && !s.brackets()[0].rungs[0].cutoff; }},
      {"a weak bracket is over", TwoCreated(), BracketEnded{0, "weak"},
       [](const JobState& s) { return s.brackets()[0].ended && !s.closing(); }},
      {"a rule that is met closes the job", TwoCreated(), CompletionMet{"the target is reached", false},
       [](const JobState& s) {
         return s.closing() && s.completion_met()->reason == "the target is reached";
       }},
      {"the end is kept", TwoCreated(), JobEnded{JobEnd::kStopped, "asked to"},
       [](const JobState& s) { return s.ended()->end == JobEnd::kStopped; }},
      {"a job that is continued is open again",
       {Created(1), Created(2), StopRequested{"enough"}, JobEnded{JobEnd::kStopped, "enough"}},
       JobContinued{"ana", "ten trials more"},
       [](const JobState& s) { return !s.ended() && !s.closing() && s.changes().size() == 1; }},
  };
  std::vector<bool> covered(std::variant_size_v<FactBody>);
  for (const Effect& effect : effects) {
    INFO(effect.what);
    std::vector<FactBody> bodies = effect.before;
    CHECK_FALSE(effect.holds(StateAfter(SmallJob(), bodies)));
    bodies.push_back(effect.fact);
    CHECK(effect.holds(StateAfter(SmallJob(), bodies)));
    covered[effect.fact.index()] = true;
  }
  CHECK(covered == std::vector<bool>(covered.size(), true));
}

TEST_CASE("Job state: facts that cannot be the next are refused with a reason", "[scheduler]") {
  const JobState state = StateAfter(SmallJob(), OneRunning());
  const auto refused = [&state](const FactBody& body) {
    return state.Contradiction({state.last_sequence() + 1, 0, body});
  };
  CHECK(state.Contradiction({9, 0, StopRequested{}}) == "its number should be 4");
  CHECK(refused(Reported{3, 1, 1, 0}) == "there is no trial 3");
  CHECK(refused(Reported{1, 2, 1, 0}) == "there is no such attempt");
  CHECK(refused(AttemptStarted{1, 2, 0, 1}) == "the trial is not pending");
  CHECK(refused(AttemptEnded{2, 1, AttemptOutcome::kLost, "", 0, 0}) == "the attempt is not running");
  CHECK(refused(EarlierResult{{0.5}, 0, 0, ""}) == "earlier results come before the first trial");
  CHECK(refused(TrialCreated{5, {0.5}, 0, 0, 1}) == "the number is not the next");
  CHECK(refused(TrialPaused{1, 1}).empty());
  CHECK(refused(RungCut{0, 0, 1, {}, 1, 0}) == "it promotes too many");
  CHECK(refused(BracketEnded{4, ""}) == "no such bracket");
  CHECK(refused(JobResumed{"", ""}) == "the job is not paused");
  CHECK(refused(TrialStopRequested{9, "", ""}) == "there is no trial 9");
  CHECK(refused(TrialKept{9, "", ""}) == "there is no trial 9");
  CHECK(refused(TrialKept{1, "", "", true}) == "the trial is not kept");
  CHECK(refused(ConfigurationEnqueued{{0.5, 0.5}, "", ""}) == "the configuration has another length");
  CHECK(refused(LimitsChanged{"", "", -1, 0, 0, 0, 0, 0}) == "a limit is below 0");
  CHECK(refused(JobPaused{"", ""}).empty());
}

TEST_CASE("Job state: states differ whatever part of a fact differs", "[scheduler]") {
  const std::vector<std::pair<FactBody, FactBody>> pairs = {
      {CompletionMet{"a", false}, CompletionMet{"b", false}},
      {CompletionMet{"a", false}, CompletionMet{"a", true}},
      {StopRequested{"a"}, StopRequested{"b"}},
      {TimeLimitReached{TimeLimit::kWall}, TimeLimitReached{TimeLimit::kNode}},
      {JobEnded{JobEnd::kStopped, "a"}, JobEnded{JobEnd::kFailed, "a"}},
      {JobEnded{JobEnd::kStopped, "a"}, JobEnded{JobEnd::kStopped, "b"}},
      {EarlierResult{{0.5}, 1, 2, "a"}, EarlierResult{{0.5}, 1, 2, "b"}},
      {EarlierResult{{0.5}, 0.0, 2, "a"}, EarlierResult{{0.5}, -0.0, 2, "a"}},
      {Suggested{1, {0.5}, 0, "a"}, Suggested{1, {0.5}, 0, "b"}},
      {Created(1), TrialCreated{1, {0.75}, 0, 0, 1}},
  };
  for (const auto& [a, b] : pairs) {
    INFO(Describe(a) << " and " << Describe(b));
    CHECK(StateAfter(SmallJob(), {a}) == StateAfter(SmallJob(), {a}));
    CHECK_FALSE(StateAfter(SmallJob(), {a}) == StateAfter(SmallJob(), {b}));
  }
}

TEST_CASE("Job state: a value that is no number equals itself", "[scheduler]") {
  std::vector<FactBody> bodies = OneRunning();
  bodies.push_back(Reported{1, 1, 1, kNaN});
  CHECK(StateAfter(SmallJob(), bodies) == StateAfter(SmallJob(), bodies));
}

TEST_CASE("Facts: described with all their members", "[scheduler]") {
  CHECK(Describe(RungCut{0, 1, 9, {3, 1}, 1, 0.5}) ==
        "rung_cut: bracket 0, rung 1, resource 9, ranking (3, 1), promoted 1, cutoff 0.5, reference ()");
  CHECK(Describe(TrialCreated{2, {0.5, std::string("sgd")}, -1, 0, 3, "why"}) ==
        "trial_created: trial 2, configuration (0.5, sgd), bracket -1, rung 0, to 3, why why, origin 0");
}

}  // namespace
}  // namespace winnow
