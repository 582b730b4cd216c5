#pragma once

#include <optional>
#include <string>

#include "cli/terminal.h"
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
// "4 running, 12 stopped"; states without a trial are left out.
std::string CountsText(const v1::TrialCounts& counts);
int64_t EndedTrials(const v1::TrialCounts& counts);
int64_t AllTrials(const v1::TrialCounts& counts);
// "trial 17: 0.78123 at 30 units"; "none yet", or "none" once the job has ended, if there is none.
std::string BestText(const v1::TuningJob& job);
// "412 of 900 units, 54 % saved by stopping early": what was trained against every trial to its end, of a job
// whose rungs were all there was to stop a trial. Of any other "412 units of 630 planned", since what was not
// trained there was not saved.
std::string ResourceText(const v1::TuningJob& job);

// The part of the job that is done, in [0, 1]: 1 only when it has ended. By planned resource, else planned
// trials, else the limits; nullopt if none of them is known. `elapsed` in seconds since creation.
std::optional<double> Fraction(const v1::TuningJob& job, double elapsed);
// Seconds left at the pace so far; nullopt before there is one.
std::optional<double> SecondsLeft(const v1::TuningJob& job, double elapsed);

}  // namespace winnow::cli
