#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/space/space.h"
#include "scheduler/space/types.h"
#include "scheduler/state/completion_index.h"
#include "scheduler/state/curve.h"
#include "scheduler/state/duplicates.h"
#include "scheduler/state/earnings.h"
#include "scheduler/state/facts.h"
#include "scheduler/state/failures.h"
#include "scheduler/state/first_of.h"
#include "scheduler/state/front_share.h"
#include "scheduler/state/hyperband_table.h"
#include "scheduler/state/identical_curves.h"
#include "scheduler/state/median_index.h"
#include "scheduler/state/startup.h"
#include "scheduler/state/top_share.h"
#include "scheduler/state/trial_front.h"

namespace winnow {

enum class TrialPhase {
  kPending,
  kRunning,
  kPaused,
  kCompleted,
  kPruned,  // ended by the pruner
  kFailed,
  kCancelled,  // ended because its job ended
};
inline constexpr size_t kTrialPhases = 7;

struct TrialState {
  TrialNumber number = 0;
  Configuration configuration;
  int32_t nodes = 1;  // ranks of its cluster
  TrialPhase phase = TrialPhase::kPending;
  std::string reason;  // why it ended
  int64_t bracket = -1;
  int64_t rung = 0;
  int64_t to = 0;          // budget of the part that runs, waits or was last finished
  int64_t checkpoint = 0;  // level at which the last finished part ended
  // The rules of the suggestions that created it and that chose its newest part; kModel without suggestions.
  SuggestionRule created_by = SuggestionRule::kModel, chosen_by = SuggestionRule::kModel;
  // The trial from whose checkpoint it goes on, and that checkpoint's level; 0: it began from nothing.
  TrialNumber origin = 0;
  int64_t origin_resource = 0;
  TrialNumber root = 0;      // the trial with which that line began; itself without an origin
  bool has_to_take = false;  // it has no copy of its origin's checkpoint yet
  int64_t to_be_taken = 0;   // how many others have to take its checkpoint before it may be trained on
  bool kept = false;         // pruners do not end it
  bool beside = false;       // it goes on only because it is kept: it takes part in no further rung
  bool at_own_end = false;   // the trainer ended by itself below its budget: it cannot be trained further

  Curve curve;                 // of the objective, or of the first one
  std::vector<Curve> further;  // of the further metrics that rank trials (SearchSpec::RankingMetrics)
  int64_t best_resource = 0;   // level of the curve's best finite value, the lowest of equal ones; 0: none
  double best_objective = 0;   // that value

  // The value by which the trial is ranked (SearchSpec::objective_value) and the level of that value; for a
  // mean, the highest level. Level 0: there is no finite value to rank by. With several objectives the value
  // is that of the first one, and the level the highest that all of them have reached.
  double value = 0;
  int64_t value_resource = 0;
  double violation = 0;            // of the metric constraints, by the newest values (FinalStanding)
  bool knows_constraints = false;  // it has reported the metric of every metric constraint, if there are any

  int64_t attempts = 0;            // placed so far
  int64_t failures = 0;            // of the trainer itself
  int64_t losses = 0;              // of workers
  bool live = false;               // an attempt is placed and has not ended (also after the trial has ended)
  int64_t attempt_from = 0;        // of the newest attempt
  int64_t attempt_reached = 0;     // highest level it reported; attempt_from <= it <= to, unless to is 0
  int64_t attempt_started_us = 0;  // when it was placed
  // (level, time) of the newest attempt's first report, and of its report of the highest level; level 0:
  // none. The times are by its worker's clock.
  std::pair<int64_t, int64_t> attempt_first{}, attempt_last{};

  int64_t created_us = 0;
  int64_t started_us = 0;  // first placed
  int64_t ended_us = 0;
  int64_t training_us = 0;       // over ended attempts
  int64_t trained_resource = 0;  // units over all attempts, by what was reported
  // From the first to the last report of its ended attempts, and the units between, as Startup counts them.
  int64_t timed_us = 0, timed_units = 0;

  bool ended() const { return phase >= TrialPhase::kCompleted; }
  // The trial whose checkpoint it goes on from.
  TrialNumber checkpoint_of() const { return has_to_take ? origin : number; }

  // The curve of a metric that ranks trials, by its index (Reported::metric).
  const Curve& curve_of(int64_t metric) const { return metric == 0 ? curve : further[metric - 1]; }
  // The highest level that any of its curves has; 0: none.
  int64_t highest_level() const;

  // The value by which the trial is ranked at a level: the newest value at or below the level, or where the
  // mean counts the mean of all values up to there. It may be NaN or infinite; absent: nothing was reported
  // there.
  std::optional<double> counted_at(int64_t resource, ObjectiveValue counts) const;

  bool operator==(const TrialState&) const = default;
};

struct RungState {
  int64_t resource = 0;
  std::vector<TrialNumber> entered;  // in order of admission
  int64_t arrived = 0;               // paused here, ended, or failed
  bool cut = false;
  int64_t promoted = 0;
  // Once cut: the objective of the last that goes on; absent: none goes on, or there are several objectives.
  std::optional<double> cutoff;
  // One of the two, if the pruner does not wait for the rung to be full.
  std::optional<TopShare> top;
  std::optional<FrontShare> top_front;  // where trials are ranked by their standings
  std::vector<TrialNumber> survivors;   // once cut: those that go on, the best first

  bool is_open() const { return top || top_front; }
  // What both have; REQUIRES is_open().
  bool Has(TrialNumber number) const { return top ? top->Has(number) : top_front->Has(number); }
  void Take(TrialNumber number) { top ? top->Take(number) : top_front->Take(number); }
  void Fail(TrialNumber number) { top ? top->Fail(number) : top_front->Fail(number); }
  bool IsTop(TrialNumber number) const { return top ? top->IsTop(number) : top_front->IsTop(number); }
  bool IsTopOrTied(TrialNumber number) const {
    return top ? top->IsTopOrTied(number) : top_front->IsTopOrTied(number);
  }
  // With one objective none is passed over.
  std::optional<TrialNumber> best_waiting(const FrontShare::PassedOver& passed_over = {}) const {
    return top ? top->best_waiting() : top_front->best_waiting(passed_over);
  }
  int64_t Rank(TrialNumber number) const { return top ? top->Rank(number) : top_front->Rank(number); }
  int64_t size() const { return top ? top->size() : top_front->size(); }
  int64_t places() const { return top ? top->places() : top_front->places(); }

  bool operator==(const RungState&) const = default;
};
struct BracketState {
  BracketPlan plan;
  std::vector<RungState> rungs;
  bool ended = false;  // as a weak one
  std::string why_ended = {};

  // How many trials the rung takes: the planned number for the first rung, then as many as were promoted to
  // it.
  int64_t width(int64_t rung) const { return rung == 0 ? plan.rungs[0].trials : rungs[rung - 1].promoted; }

  bool operator==(const BracketState&) const = default;
};

struct JobTotals {
  int64_t pending = 0, running = 0, paused = 0, completed = 0, pruned = 0, failed = 0, cancelled = 0;
  int64_t live_attempts = 0;
  int64_t live_nodes = 0;         // their ranks
  int64_t training_us = 0;        // of ended attempts
  int64_t node_us = 0;            // the same, times each attempt's ranks
  double cost = 0;                // of that
  int64_t resource = 0;           // units reported, over all attempts
  int64_t reserved_resource = 0;  // of live attempts: planned but not yet reported

  bool operator==(const JobTotals&) const = default;
};

constexpr double kMicrosOfHour = 3.6e9;

// What ended attempts have spent on the workers of a pool.
struct PoolSpending {
  int64_t node_us = 0;
  double cost = 0;

  bool operator==(const PoolSpending&) const = default;
};

// The places of a live attempt; as in AttemptStarted.
struct PricedPlaces {
  std::vector<std::string> pools;
  std::vector<double> prices;

  double per_hour() const { return std::accumulate(prices.begin(), prices.end(), 0.0); }
  bool operator==(const PricedPlaces&) const = default;
};

// What follows from a job's spec alone.
struct Search {
  explicit Search(SearchSpec of);
  // Takes these limits, and what follows from them.
  void ChangeLimits(const LimitsChanged& changed);
  // Takes this range, and what follows from it, where these trials exist. A prior outside it is dropped.
  // REQUIRES ChangedRange gives a range.
  void ChangeRange(const RangeChanged& changed, const std::vector<TrialState>& trials);

  SearchSpec spec;
  std::vector<std::string> metrics;  // spec.RankingMetrics()
  SearchSpace space;                 // what may be tried
  // Every range with the values that it ever had, once one was changed; search models place all trials in it.
  std::optional<SearchSpace> known_space;
  std::set<Configuration> tried;  // of the space, if that is finite
  int64_t tried_elsewhere = 0;    // trials that were not of the space, if that is finite, when it was changed
  std::shared_ptr<const Lattice> grid;  // of a GRID job; null otherwise
  int64_t most_trials = 0;
  HyperbandTable table;

  bool operator==(const Search& other) const {
    return spec == other.spec && tried == other.tried && tried_elsewhere == other.tried_elsewhere;
  }

 private:
  void PlanBrackets();
};

// The range that a change gives its parameter. Absent: there is no such parameter, or the values are no range
// of its kind.
std::optional<Range> ChangedRange(const SearchSpec& spec, const RangeChanged& changed);

// The spec with the limits that were changed.
SearchSpec WithLimits(SearchSpec spec, const LimitsChanged& changed);

// An index over the facts of a job, and nothing more: loading a job applies its rows in order, and gives the
// same state as the live one. Owner: the coordinator thread. Not thread-safe.
class JobState {
 public:
  explicit JobState(SearchSpec spec);

  // Changes the state; nothing else does. REQUIRES Contradiction(fact) is "", which is checked: anything else
  // is a broken invariant and ends the process. O(log n); for a cut O(width); with several objectives also as
  // TrialFront and FrontShare say.
  void Apply(const Fact& fact);

  // Why `fact` cannot be the next; "" if it can.
  std::string Contradiction(const Fact& fact) const;

  const SearchSpec& spec() const { return search_.spec; }
  int64_t last_sequence() const { return last_sequence_; }
  const std::vector<TrialState>& trials() const { return trials_; }  // trials()[n - 1] is trial n
  const TrialState& trial(TrialNumber number) const { return trials_[number - 1]; }
  // The brackets opened so far; all of them from the start where rungs are open (ASHA, FREEZE_THAW).
  const std::vector<BracketState>& brackets() const { return brackets_; }
  const HyperbandTable& table() const { return search_.table; }  // empty without a bracket pruner
  const JobTotals& totals() const { return totals_; }

  // The trials that wait for slots, in the order in which they get them. The first number is the bracket, or
  // where rungs are open the negated rung, so that higher rungs go first.
  const std::set<std::pair<int64_t, TrialNumber>>& pending() const { return pending_; }

  // The trial of the best value (TrialState::value); ties by lower number. Failed trials and those that
  // violate a constraint are left out; absent: none is left, or there are several objectives. Where the last
  // value or the mean counts, completed trials go first, because the others' values are preliminary; with
  // constraints, those that have reported the metrics of all constraints.
  std::optional<TrialNumber> best_trial() const;
  // The same over all trials, completed or not.
  std::optional<TrialNumber> leading_trial() const;
  // Whether a trial that has not failed has a value.
  bool any_finite_objective() const;
  // With several objectives: the standings of the trials that no other dominates, by number. Failed and
  // infeasible trials are left out. Running trials take part with their newest values.
  const std::vector<Standing>& front() const { return front_.members(); }
  // The front's hypervolume over the objectives' thresholds. REQUIRES every objective has one.
  double front_hypervolume() const { return HypervolumeOf(front(), ReferenceOf(spec().objectives, front())); }

  // How many trials are paused at a rung that is cut: the decisions about them are still being recorded.
  int64_t undecided() const { return undecided_; }

  // The running averages of completed trials by objective; kept under MEDIAN only. Keys are objectives,
  // negated to maximise.
  const MedianIndex& completed_averages(size_t objective = 0) const { return completed_averages_[objective]; }

  const CompletionIndex& completion_index() const { return completion_index_; }
  const Failures& failures() const { return failures_; }
  // Whether a failed trial was lost to the machines too often; otherwise its trainer failed it.
  bool FailedByMachines(const TrialState& trial) const {
    return trial.losses >= spec().limits.max_lost_attempts;
  }

  // SearchSpec::RankingMetrics; the first is the objective, or the first one.
  const std::vector<std::string>& metrics() const { return search_.metrics; }
  const SearchSpace& space() const { return search_.space; }
  // The space with every value that a range ever had. Each trial's values lie in it.
  const SearchSpace& known_space() const { return search_.known_space ? *search_.known_space : space(); }
  bool ranges_changed() const { return search_.known_space.has_value(); }
  // The grid of a GRID job; null otherwise.
  const std::shared_ptr<const Lattice>& grid() const { return search_.grid; }
  // How many trials the limits and the space allow; 0: any number.
  int64_t most_trials() const { return search_.most_trials; }
  // Whether the space is finite and all of its configurations were tried.
  bool exhausted() const {
    return space().size() > 0 && static_cast<int64_t>(search_.tried.size()) >= space().size();
  }
  // The number of the next new trial.
  TrialNumber next_trial() const { return static_cast<TrialNumber>(trials_.size()) + 1; }
  // Whether limits, the bracket table and the space allow another trial.
  bool may_create() const;
  // Whether a trial had this configuration. Kept for finite spaces only; otherwise false.
  bool tried(const Configuration& configuration) const { return search_.tried.count(configuration) > 0; }
  const std::vector<EarlierResult>& earlier_results() const { return earlier_results_; }
  // The notices with their times since the Unix epoch, oldest first, each kind once.
  const std::vector<std::pair<Noticed, int64_t>>& notices() const { return notices_; }
  bool noticed(NoticeKind kind) const;
  // Whether all tried configurations give the same curve. O(1).
  const IdenticalCurves& identical_curves() const { return identical_curves_; }
  // A model's answer that has not been followed yet.
  const std::optional<Suggested>& suggestion() const { return suggestion_; }
  // Units requested so far by suggestions of the rule that name a level.
  int64_t suggested_units(SuggestionRule rule) const { return suggested_units_[static_cast<size_t>(rule)]; }
  // How many suggestions of the rule name a level. Each begins a part.
  int64_t suggested_parts(SuggestionRule rule) const { return suggested_parts_[static_cast<size_t>(rule)]; }
  // By the pool's name; without what was in none.
  const std::map<std::string, PoolSpending>& pool_spending() const { return pool_spending_; }
  // The places of live attempts that are in a pool or cost something.
  const std::map<TrialNumber, PricedPlaces>& priced_places() const { return priced_places_; }
  // The measured time of an attempt before its first unit.
  const Startup& startup() const { return startup_; }
  // What the rules of suggestions have earned; kept where a search model chooses trainings.
  const Earnings& earnings() const { return earnings_; }
  // The trials that only repeat what others reported; kept where a search model chooses trainings.
  const Duplicates& duplicates() const { return duplicates_; }
  // The parameters of the last model fit, as in Suggested::model; empty: none yet.
  const std::vector<double>& model() const { return model_; }

  // What people have changed, oldest first, with the times since the Unix epoch.
  const std::vector<std::pair<int64_t, FactBody>>& changes() const { return changes_; }
  bool paused() const { return paused_; }
  bool limits_changed() const { return limits_changed_; }  // spec() then has the newest
  // Whether the brackets would stay as planned with these limits.
  bool KeepsBrackets(const LimitsChanged& changed) const;
  // What would follow from a changed range. REQUIRES ChangedRange gives a range.
  Search SearchAfter(const RangeChanged& changed) const;
  // The newest change of the job's share of the slots; absent: it has that of its spec.
  const std::optional<SchedulingChanged>& scheduling() const { return scheduling_; }
  // The trials that people keep from being pruned and that have not ended.
  const std::set<TrialNumber>& kept() const { return kept_; }
  // The configurations that people have enqueued and that no trial has yet, in their order.
  const std::deque<ConfigurationEnqueued>& queue() const { return queue_; }

  // Whether no further trial may start: the job was asked to stop, is out of time, or is complete.
  bool closing() const { return stop_requested_ || time_limit_ || completion_met_; }
  bool stop_requested() const { return stop_requested_; }
  const std::string& stop_reason() const { return stop_reason_; }
  bool stopped_as_failed() const { return stopped_as_failed_; }  // StopRequested::failed
  const std::optional<TimeLimit>& time_limit() const { return time_limit_; }
  const std::optional<CompletionMet>& completion_met() const { return completion_met_; }
  const std::optional<JobEnded>& ended() const { return ended_; }

  bool operator==(const JobState&) const = default;

 private:
  // What a fact does; one specialisation for each kind.
  template <typename F>
  void On(const F& fact, int64_t time_us);

  TrialState& At(TrialNumber number) { return trials_[number - 1]; }
  RungState* RungOf(const TrialState& trial);  // null without a bracket
  int64_t& CountOf(TrialPhase phase);
  void SetPhase(TrialState& trial, TrialPhase phase);
  void RankBest(TrialState& trial, int64_t resource, double objective);
  void RankValue(TrialState& trial);
  int64_t CommonLevel(const TrialState& trial) const;
  void Offer(const TrialState& trial);
  TrialPhase PhaseOfStopped(const TrialState& trial) const;
  Failures::Kind KindOfFailure(const TrialState& trial) const;
  void Pay(const PricedPlaces& places, int64_t took_us);
  void NoteTimes(TrialState& trial, int64_t started_us, int64_t took_us);
  bool IsBestOf(const FirstOf::Entry& entry) const;
  std::pair<int64_t, TrialNumber> PlaceInQueue(const TrialState& trial) const;
  void ArriveAt(RungState& rung, const TrialState& trial, int64_t level);
  void NoteEarning(const RungState& rung, const TrialState& trial, double key);
  void NoteDuplicates(const TrialState& trial, int64_t level);
  void FailAtRungs(const TrialState& trial);
  void ForgetOriginal(const TrialState& trial);
  void ReturnToRungs(const TrialState& trial);
  void PassRungs(TrialState& trial, int64_t resource);
  void Taken(TrialState& trial);

  Search search_;
  int64_t last_sequence_ = 0;
  std::vector<TrialState> trials_;
  std::vector<BracketState> brackets_;
  std::set<std::pair<int64_t, TrialNumber>> pending_;
  JobTotals totals_;
  bool stop_requested_ = false;
  std::string stop_reason_;
  bool stopped_as_failed_ = false;
  std::optional<TimeLimit> time_limit_;
  std::optional<CompletionMet> completion_met_;
  std::vector<EarlierResult> earlier_results_;
  std::vector<std::pair<Noticed, int64_t>> notices_;
  IdenticalCurves identical_curves_;
  std::optional<Suggested> suggestion_;
  std::vector<double> model_;
  std::array<int64_t, kSuggestionRules> suggested_units_{}, suggested_parts_{};
  std::vector<std::pair<int64_t, FactBody>> changes_;
  bool paused_ = false;
  bool limits_changed_ = false;
  std::optional<SchedulingChanged> scheduling_;
  std::deque<ConfigurationEnqueued> queue_;
  std::set<TrialNumber> kept_;
  std::optional<JobEnded> ended_;
  FirstOf best_;          // what each trial counts, negated to maximise
  FirstOf best_settled_;  // the same of those that are settled; kept where they go before the others
  int64_t undecided_ = 0;
  TrialFront front_;
  std::vector<MedianIndex> completed_averages_;  // by objective
  CompletionIndex completion_index_;
  Failures failures_;
  std::map<std::string, PoolSpending> pool_spending_;
  std::map<TrialNumber, PricedPlaces> priced_places_;
  Startup startup_;
  Earnings earnings_;
  Duplicates duplicates_;
};

}  // namespace winnow
