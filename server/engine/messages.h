#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/state/job_state.h"
#include "server/engine/job_view.h"
#include "store/assignments.h"
#include "store/jobs.h"
#include "store/trials.h"
#include "store/workers.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What clients are shown, made from rows and facts. `now_us` counts for a job that has not ended.
v1::TuningJob ToProto(const JobView& view, int64_t now_us);
// Without the spec.
struct JobParts {
  const JobRow& row;
  const JobState& state;
  const std::map<int64_t, std::string>& bracket_ends;
  const Plan& plan;
  const std::string& strategy_text;
};
v1::TuningJob ToProto(const JobParts& parts, int64_t now_us);
v1::Trial ToProto(const std::string& job_id, const SearchSpec& spec, const TrialRow& row);
// `state`: of the trial that the fact ends, as it is now.
v1::TuningJobEvent ToProto(const Fact& fact, const std::string& metric, TrialPhase state = TrialPhase::kPruned);
// The attempts of one trial, from its facts and from the rows of their ranks (by attempt and rank; none where
// a client trains).
std::vector<v1::Attempt> ToAttempts(const std::vector<AssignmentRow>& ranks, const std::vector<Fact>& facts,
                                    const std::vector<WorkerRow>& workers);

// The level to which a trial is trained if nothing stops it early; 0: not known.
int64_t UnstoppedResource(const SearchSpec& spec, const Configuration& configuration);

// Why the trial's configuration was chosen, from the trial's facts; "": not said.
std::string ChoiceReason(const std::vector<Fact>& facts);
// The active ones, in the order of the spec.
void AddHyperparameters(const SearchSpec& spec, const Configuration& configuration,
                        google::protobuf::RepeatedPtrField<v1::HyperparameterValue>& values);
v1::Trial::State StateOf(TrialPhase phase);
// By the name that the row of a job holds.
v1::TuningJob::State JobStateOf(const std::string& name);

google::protobuf::Timestamp ToTimestamp(int64_t us);

}  // namespace winnow
