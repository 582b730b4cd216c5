#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/fields.h"

namespace winnow {

// A job is its list of facts. Some come from outside (kObserved), the others are decisions, recorded in the
// transaction of the fact that caused them. Each has a sequence number within its job, without gaps. Times
// are part of the fact: nothing here reads a clock.
//
// A kind of fact is declared once, by a struct with kKind, the name of its rows in the database, and kFields,
// the names of all its members in their order (state/fields.h). Equality, the rows (store/fact_codec.h) and
// Describe follow from these. The effect of a fact on a job is in job_state.cc, its sentence for people in
// server/engine/answers/fact_text.cc.

enum class AttemptOutcome {
  kFinished,    // exit code 0, or stopped by the worker at its budget
  kFailed,      // the trainer's own failure
  kLost,        // to the machines: a worker was lost, or could not start it, or the ranks lost each other
  kHandedBack,  // the worker left politely; costs no attempt
  kStopped,     // the scheduler wanted it no more
};

enum class TrialEnd { kCompleted, kStopped, kFailed };
enum class JobEnd { kCompleted, kStopped, kFailed };

// The value of a metric by which trials are ranked: of the objective, or of one of several objectives or
// constraints. Other metrics are stored beside it but decide nothing.
struct Reported {
  static constexpr const char* kKind = "reported";
  static constexpr FactField kFields[] = {
      "trial", "attempt", "resource", "objective", {"metric", Kept::kUnlessDefault}};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
  int64_t attempt = 0;
  int64_t resource = 0;
  double objective = 0;  // the value; may be NaN: counts as worst
  int64_t metric = 0;    // index of SearchSpec::RankingMetrics(); 0: the objective, or the first one
};

// A gang was placed. `from`..`to` are resource levels; to = 0: to the trainer's own end.
struct AttemptStarted {
  static constexpr const char* kKind = "attempt_started";
  static constexpr FactField kFields[] = {
      "trial", "attempt", "from", "to", {"pools", Kept::kUnlessDefault}, {"prices", Kept::kUnlessDefault}};
  TrialNumber trial = 0;
  int64_t attempt = 0;  // 1, 2, 3… within the trial
  int64_t from = 0;
  int64_t to = 0;
  // For each rank the pool of its worker ("": none) and what an hour of the rank costs. Both empty: no rank
  // is in a pool, and none costs anything.
  std::vector<std::string> pools = {};
  std::vector<double> prices = {};
};

struct AttemptEnded {
  static constexpr const char* kKind = "attempt_ended";
  static constexpr FactField kFields[] = {"trial", "attempt", "outcome", "reason", "started_us", "ended_us"};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
  int64_t attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::kFinished;
  std::string reason;
  int64_t started_us = 0;  // of the process itself, for billing; 0: it never ran
  int64_t ended_us = 0;
};

// The trial, which waits for slots, is going to where its checkpoint is out of reach: it starts from nothing.
struct CheckpointLost {
  static constexpr const char* kKind = "checkpoint_lost";
  static constexpr FactField kFields[] = {"trial"};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
};

// A trial that goes on from another one's checkpoint has its own copy of it: the other may be trained on.
struct CheckpointTaken {
  static constexpr const char* kKind = "checkpoint_taken";
  static constexpr FactField kFields[] = {"trial"};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
};

struct StopRequested {
  static constexpr const char* kKind = "stop_requested";
  static constexpr FactField kFields[] = {"reason", {"failed", Kept::kUnlessDefault}};
  static constexpr bool kObserved = true;
  std::string reason;
  // The server has stopped it, because no trial can be started; the reason is then a whole sentence.
  bool failed = false;
};

enum class TimeLimit { kWall, kNode, kCost };
struct TimeLimitReached {
  static constexpr const char* kKind = "wall_time_reached";  // or node_time_reached, cost_reached
  static constexpr FactField kFields[] = {{"limit", Kept::kInKind}};
  static constexpr bool kObserved = true;
  TimeLimit limit = TimeLimit::kWall;
};

// What people change in a job: `by` is who ("": not known), `why` what they said about it.

// Nothing starts until the job is resumed; what runs trains its part to the end.
struct JobPaused {
  static constexpr const char* kKind = "job_paused";
  static constexpr FactField kFields[] = {"by", "why"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
};

struct JobResumed {
  static constexpr const char* kKind = "job_resumed";
  static constexpr FactField kFields[] = {"by", "why"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
};

// A job that had ended runs again; the limits that count from now on follow.
struct JobContinued {
  static constexpr const char* kKind = "job_continued";
  static constexpr FactField kFields[] = {"by", "why"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
};

// From now on these are the limits; 0: none.
struct LimitsChanged {
  static constexpr const char* kKind = "limits_changed";
  static constexpr FactField kFields[] = {"by",
                                          "why",
                                          "max_trials",
                                          "max_parallel_trials",
                                          "max_total_resource",
                                          "max_wall_time_us",
                                          "max_node_time_us",
                                          "max_cost"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
  int64_t max_trials = 0;
  int64_t max_parallel_trials = 0;
  int64_t max_total_resource = 0;
  int64_t max_wall_time_us = 0;
  int64_t max_node_time_us = 0;
  double max_cost = 0;
};

// The trial ends; it counts as pruned, with what it has reported.
struct TrialStopRequested {
  static constexpr const char* kKind = "trial_stop_requested";
  static constexpr FactField kFields[] = {"trial", "by", "why"};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
  std::string by;
  std::string why;
};

// Pruners end the trial no more; or, if it is released, they may again.
struct TrialKept {
  static constexpr const char* kKind = "trial_kept";
  static constexpr FactField kFields[] = {"trial", "by", "why", {"released", Kept::kUnlessDefault}};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;
  std::string by;
  std::string why;
  bool released = false;
};

// A new trial is to have this configuration before the sampler gives others, but after those of the spec.
struct ConfigurationEnqueued {
  static constexpr const char* kKind = "configuration_enqueued";
  static constexpr FactField kFields[] = {"configuration", "by", "why"};
  static constexpr bool kObserved = true;
  Configuration configuration;
  std::string by;
  std::string why;
};

// The job's share of the slots from now on. It decides nothing within the job.
struct SchedulingChanged {
  static constexpr const char* kKind = "scheduling_changed";
  static constexpr FactField kFields[] = {"by", "why", "priority", "weight"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
  int64_t priority = 0;
  double weight = 1;
};

// What is tried from now on has this range of a parameter. Trials that exist keep their values.
struct RangeChanged {
  static constexpr const char* kKind = "range_changed";
  static constexpr FactField kFields[] = {"by", "why", "parameter", "values", "listed"};
  static constexpr bool kObserved = true;
  std::string by;
  std::string why;
  std::string parameter;      // its name
  std::vector<Value> values;  // as WithValues takes them (scheduler/space/range_change.h)
  bool listed = false;        // all values of a discrete or categorical range, not min and max
};

// A result of an earlier job or another tool: the first facts of a job that is started warm.
struct EarlierResult {
  static constexpr const char* kKind = "prior_observed";
  static constexpr FactField kFields[] = {"configuration", "objective", "resource", "source"};
  static constexpr bool kObserved = true;
  Configuration configuration;
  double objective = 0;
  int64_t resource = 0;  // level at which it was; 0: not known
  std::string source;    // "job bank-3, trial 7"
};

// What looks wrong in a job; the numbers are part of every recorded job, and those of
// winnow.v1.JobNotice.Kind.
enum class NoticeKind : int64_t {
  kLevelBelowOne = 1,
  kBeyondBudget = 2,
  kPartBeganAnew = 3,
  kIdenticalCurves = 4,
  kSeparateWorlds = 5,
  kUnmatchedMetric = 6,
  kPlainRanks = 7,
  kReportedTwice = 8,
  kNumberCut = 9,
  kTwoInALine = 10,
};
constexpr int64_t kMostNoticeKind = 10;

// Something looks wrong. It decides nothing, and each kind is recorded once per job.
struct Noticed {
  static constexpr const char* kKind = "noticed";
  static constexpr FactField kFields[] = {"trial", "kind", "text"};
  static constexpr bool kObserved = true;
  TrialNumber trial = 0;  // in which it was seen first
  NoticeKind kind = NoticeKind::kLevelBelowOne;
  std::string text;  // what was seen and what to do, in a sentence or two
};

// Why a suggestion was made; the numbers are part of every recorded job.
enum class SuggestionRule : int64_t {
  kModel = 0,     // the model prefers it
  kStart = 1,     // before there is a model
  kBreadth = 2,   // ASHA's promotions, and Sobol points: whatever the model says
  kExplore = 3,   // where the model knows least; of older jobs alone
  kStraight = 4,  // trained to the end at once
  kDensity = 5,   // ASHA's promotions, and configurations of TPE
};
constexpr size_t kSuggestionRules = 6;

// A model's answer: what it gave after fact `based_on`.
struct Suggested {
  static constexpr const char* kKind = "suggested";
  static constexpr FactField kFields[] = {"trial",
                                          "configuration",
                                          "based_on",
                                          "why",
                                          {"model", Kept::kUnlessDefault},
                                          {"rule", Kept::kUnlessDefault},
                                          {"to", Kept::kUnlessDefault}};
  // A new trial, or a paused one that is to resume; 0: nothing is worth training any more.
  TrialNumber trial = 0;
  Configuration configuration;  // of a new one; empty otherwise
  int64_t based_on = 0;
  std::string why;  // one sentence
  // The parameters of the model, where it was fitted again; empty: as before. Their meaning is the model's
  // own.
  std::vector<double> model = {};
  SuggestionRule rule = SuggestionRule::kModel;
  int64_t to = 0;  // the level to be trained to next; 0: the pruner decides
};

// Start{configuration, budget}. bracket = -1: none.
struct TrialCreated {
  static constexpr const char* kKind = "trial_created";
  static constexpr FactField kFields[] = {"trial",
                                          "configuration",
                                          "bracket",
                                          "rung",
                                          "to",
                                          {"why", Kept::kOrDefault},
                                          {"origin", Kept::kUnlessDefault}};
  TrialNumber trial = 0;
  Configuration configuration;
  int64_t bracket = -1;
  int64_t rung = 0;
  int64_t to = 0;          // budget: the level to train to; 0: to the trainer's own end
  std::string why = {};    // how the configuration was chosen, in one sentence
  TrialNumber origin = 0;  // the paused trial from whose checkpoint it goes on; 0: it begins from nothing
};

// Resume{trial, budget}: it waits for slots again, for the next rung or for another attempt.
struct TrialResumed {
  static constexpr const char* kKind = "trial_resumed";
  static constexpr FactField kFields[] = {"trial", "rung", "to", "reason"};
  TrialNumber trial = 0;
  int64_t rung = 0;
  int64_t to = 0;
  std::string reason;
};

// Pause{trial}: it has reached its rung and waits for the cut.
struct TrialPaused {
  static constexpr const char* kKind = "trial_paused";
  static constexpr FactField kFields[] = {"trial", "resource"};
  TrialNumber trial = 0;
  int64_t resource = 0;
};

// Stop{trial, reason}, or its natural end.
struct TrialEnded {
  static constexpr const char* kKind = "trial_ended";
  static constexpr FactField kFields[] = {"trial", "end", "reason"};
  TrialNumber trial = 0;
  TrialEnd end = TrialEnd::kCompleted;
  std::string reason;  // one sentence; for a cut: rule, rung, rank and cut-off
};

// All trials of a rung have arrived; the best go on.
struct RungCut {
  static constexpr const char* kKind = "rung_cut";
  static constexpr FactField kFields[] = {
      "bracket", "rung", "resource", "ranking", "promoted", "cutoff", {"reference", Kept::kUnlessDefault}};
  int64_t bracket = 0;
  int64_t rung = 0;
  int64_t resource = 0;
  std::vector<TrialNumber> ranking;  // best first; ties by lower number; failed ones last
  int64_t promoted = 0;              // how many of `ranking` go on
  // Objective of the last that goes on; NaN: none goes on, or there are several objectives.
  double cutoff = 0;
  // Several objectives: the reference point of the hypervolume by which the ranking divided fronts, in the
  // order and the units of the objectives. Empty: there is one objective, or no trial is feasible.
  std::vector<double> reference = {};
};

// The bracket is behind the others (scheduler/pruners/weak_bracket.h): its trials end.
struct BracketEnded {
  static constexpr const char* kKind = "bracket_ended";
  static constexpr FactField kFields[] = {"bracket", "reason"};
  int64_t bracket = 0;
  std::string reason;
};

// A completion rule is met, or nothing is left to do: no further trial starts and those that live end.
struct CompletionMet {
  static constexpr const char* kKind = "completion_met";
  static constexpr FactField kFields[] = {"reason", "nothing_left"};
  std::string reason;
  bool nothing_left = false;  // no rule: no trial can be started or go on any more
};

// Finish{outcome}.
struct JobEnded {
  static constexpr const char* kKind = "job_ended";
  static constexpr FactField kFields[] = {"end", "reason"};
  JobEnd end = JobEnd::kCompleted;
  std::string reason;
};

using Decision = std::variant<TrialCreated, TrialResumed, TrialPaused, TrialEnded, RungCut, BracketEnded,
                              CompletionMet, JobEnded>;

using FactBody =
    std::variant<Reported, AttemptStarted, AttemptEnded, CheckpointLost, CheckpointTaken, StopRequested,
                 TimeLimitReached, EarlierResult, Noticed, Suggested, TrialCreated, TrialResumed, TrialPaused,
                 TrialEnded, RungCut, BracketEnded, CompletionMet, JobEnded, JobPaused, JobResumed,
                 LimitsChanged, TrialStopRequested, ConfigurationEnqueued, JobContinued, SchedulingChanged,
                 RangeChanged, TrialKept>;

struct Fact {
  int64_t sequence = 0;
  int64_t time_us = 0;  // since the Unix epoch
  FactBody body;
};

FactBody ToBody(const Decision& decision);

// Whether a fact came from outside; all others follow from those before them.
inline bool IsObserved(const FactBody& body) {
  return std::visit(
      [](const auto& fact) {
        return requires { fact.kObserved; };
      },
      body);
}

// What people change in a job.
template <typename F>
inline constexpr bool kIsChange =
    std::is_same_v<F, JobPaused> || std::is_same_v<F, JobResumed> || std::is_same_v<F, LimitsChanged> ||
    std::is_same_v<F, TrialStopRequested> || std::is_same_v<F, ConfigurationEnqueued> ||
    std::is_same_v<F, JobContinued> || std::is_same_v<F, SchedulingChanged> ||
    std::is_same_v<F, RangeChanged> || std::is_same_v<F, TrialKept>;
inline bool IsChange(const FactBody& body) {
  return std::visit([]<typename F>(const F&) { return kIsChange<F>; }, body);
}

// What a change's `by` and `why` say: " by ana: it won last year.".
std::string ByAndWhy(const std::string& by, const std::string& why);

// Equal in every member, reals by their bits.
inline bool Identical(const FactBody& a, const FactBody& b) { return a == b; }

// The kind and the members, for messages: "rung_cut: bracket 0, rung 1, resource 3, ...".
std::string Describe(const FactBody& body);

}  // namespace winnow
