#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/terminal.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// How a job stands, in the words that every command uses.

bool HasEnded(const v1::TuningJob& job);
std::string StateText(v1::TuningJob::State state);
std::string StateText(v1::Trial::State state);
Style StateStyle(v1::TuningJob::State state);
Style StateStyle(v1::Trial::State state);

// "HYPERBAND, R = 81, eta = 3, maximize validation:auc"; "TPE sampler, MEDIAN pruner, maximize auc".
std::string StrategyText(const v1::TuningJobSpec& spec);
// "4 running, 12 pruned"; states without a trial are left out.
std::string CountsText(const v1::TrialCounts& counts);
int64_t EndedTrials(const v1::TrialCounts& counts);
int64_t AllTrials(const v1::TrialCounts& counts);
// "trial 17: 0.78123 at 30 units"; "none yet", or "none" once the job has ended, if there is none.
std::string BestText(const v1::TuningJob& job);
// "412 units; pruning saved 488 more (54 %)": saved is what pruned trials were not trained. "412 units of 630
// planned" where fewer were trained than planned, which saves nothing.
std::string ResourceText(const v1::TuningJob& job);
// "1 m 12 s elapsed, 4 m 01 s of trial time (3.3× parallel), 12 % of it start-up"; start-up below 5 % is left out.
std::string TimeText(const v1::TuningJob& job, double elapsed);

// "4 × CUDA out of memory (first: trial 7)", a text for each reason that trials failed for, at most `most`; a last one
// counts the failed trials that are in none of them.
std::vector<std::string> FailureTexts(const v1::TuningJob& job, size_t most);
// What looks wrong: "trial 3: …".
std::vector<std::string> NoticeTexts(const v1::TuningJob& job);

// The part of the job that is done, in [0, 1]: 1 only when it is complete. By planned resource, else planned
// trials, else the limits; nullopt if none of them is known. `elapsed` in seconds since creation.
std::optional<double> Fraction(const v1::TuningJob& job, double elapsed);
// Seconds left at the pace so far; nullopt before there is one.
std::optional<double> SecondsLeft(const v1::TuningJob& job, double elapsed);

}  // namespace winnow::cli
