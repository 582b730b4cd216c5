#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/terminal.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// The state of a job in the words that every command uses.

bool HasEnded(const v1::TuningJob& job);
std::string StateText(v1::TuningJob::State state);
std::string StateText(v1::Trial::State state);
Style StateStyle(v1::TuningJob::State state);
Style StateStyle(v1::Trial::State state);

// "HYPERBAND, R = 81, eta = 3, maximize validation:auc"; "TPE sampler, MEDIAN pruner, maximize auc, size at
// most 3000".
std::string StrategyText(const v1::TuningJobSpec& spec);
// Whether the job has several objectives, and so a Pareto front in place of a best trial.
bool HasFront(const v1::TuningJobSpec& spec);
// The objective's metric; of several the first one's.
const std::string& FirstMetric(const v1::TuningJobSpec& spec);
// All of them: "auc", "auc, size".
std::string MetricsText(const v1::TuningJobSpec& spec);
// The metrics that make up what a trial counts, where that is more than one: of several objectives and of the
// metric constraints, each once. Else none.
std::vector<std::string> StandingMetrics(const v1::TuningJobSpec& spec);
// The trial's newest value of such a metric; absent: it has reported none.
std::optional<double> NewestValue(const v1::Trial& trial, const std::string& metric);
// "size = 12, expected at most 10; latency has no value": the constraints that the trial violates, or whose
// metric it has not reported. "": none.
std::string ViolationsText(const v1::TuningJobSpec& spec, const v1::Trial& trial);
// ". The nearest is trial 7: size = 12, expected at most 10"; "" without such a trial.
std::string NearestText(const v1::TuningJobSpec& spec, const std::optional<v1::Trial>& trial);
// Whether there are trials, and each has failed.
bool AllFailed(const v1::TrialCounts& counts);
// "4 running, 12 pruned"; omits states without a trial.
std::string CountsText(const v1::TrialCounts& counts);
int64_t EndedTrials(const v1::TrialCounts& counts);
int64_t AllTrials(const v1::TrialCounts& counts);
// "trial 17: 0.78123 at 30 units", with "not known to satisfy metric_constraints: no value of size" if so;
// without a best "none yet", or "none" once the job has ended. With several objectives "a Pareto front of 7
// trials".
std::string BestText(const v1::TuningJob& job);
// "0.78123"; with repeats "0.78123 ± 0.0021", the standard error of the mean. REQUIRES a best trial.
std::string BestValueText(const v1::TuningJob& job);
// Whether a trial is ranked by its best value at any level.
bool RanksByBest(const v1::TuningJobSpec& spec);
// "expected 0.771 ± 0.004": what the model expects of the best trial if it is trained again; "": not known.
std::string ExpectedText(const v1::TuningJob& job);
// "not known to satisfy metric_constraints: no value of size"; "": the best trial is known to satisfy them.
std::string UnreportedText(const v1::TuningJob& job);
// "at 30 units"; "mean of 5 repeats". REQUIRES a best trial.
std::string BestLevelText(const v1::TuningJob& job);
// "412 units; pruning saved 488 more (54 %)": saved is the training that pruning avoided. "412 units of 630
// planned" if fewer were trained than planned, which saves nothing.
std::string ResourceText(const v1::TuningJob& job);
// "1 m 12 s elapsed, 4 m 01 s of trial time (3.3× parallel), 12 % of it start-up"; omits start-up below 5 %.
std::string TimeText(const v1::TuningJob& job, double elapsed);
// "432: 20 new processes, 280 forked, 132 continued", of the parts that have ended; "": none is known.
std::string PartsText(const v1::TuningJob& job);

// "4 × CUDA out of memory (first: trial 7)", a text per reason of failure, at most `most`; a last one counts
// the remaining failed trials.
std::vector<std::string> FailureTexts(const v1::TuningJob& job, size_t most);
// Suspicious observations: "trial 3: …", or as they are where they name their trial.
std::vector<std::string> NoticeTexts(const v1::TuningJob& job);

// Returns the fraction of the job that is done, in [0, 1]: 1 only when it is complete. By planned resource,
// else planned trials, else the limits; nullopt if all are unknown. `elapsed` in seconds since creation.
std::optional<double> Fraction(const v1::TuningJob& job, double elapsed);
// Seconds left at the present rate; nullopt while there is none.
std::optional<double> SecondsLeft(const v1::TuningJob& job, double elapsed);

}  // namespace winnow::cli
