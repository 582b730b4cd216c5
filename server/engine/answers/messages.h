#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/state/job_state.h"
#include "server/engine/answers/job_view.h"
#include "store/assignments.h"
#include "store/jobs.h"
#include "store/trials.h"
#include "store/workers.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// A message as a column of a row: proto3 JSON.
std::string ToStoredJson(const google::protobuf::Message& message);

// Messages to clients, made from rows and facts. A job that has not ended is described as of `now_us`.
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
// `state`: the present state of the fact's trial.
v1::TuningJobEvent ToProto(const Fact& fact, const std::vector<std::string>& metrics,
                           TrialPhase state = TrialPhase::kPruned);
// The attempts of one trial, from its facts and from the rows of its ranks (by attempt and rank; none if a
// client trains).
std::vector<v1::Attempt> ToAttempts(const std::vector<AssignmentRow>& ranks, const std::vector<Fact>& facts,
                                    const std::vector<WorkerRow>& workers);

// The level to which a trial is trained if nothing stops it early; 0: not known.
int64_t UnstoppedResource(const SearchSpec& spec, const Configuration& configuration);

// Why the trial's configuration was chosen, from the trial's facts; "": not said.
std::string ChoiceReason(const std::vector<Fact>& facts);
// Who keeps the trial from being pruned and why, by the facts that say so; "": nobody does.
std::string KeptText(const std::vector<Fact>& facts, TrialNumber trial);
// Adds the values of the active hyperparameters, in the order of the spec.
void AddHyperparameters(const SearchSpec& spec, const Configuration& configuration,
                        google::protobuf::RepeatedPtrField<v1::HyperparameterValue>& values);
v1::Trial::State StateOf(TrialPhase phase);
// From the text in a job's row.
v1::TuningJob::State JobStateOf(const std::string& name);

google::protobuf::Timestamp ToTimestamp(int64_t us);

}  // namespace winnow
