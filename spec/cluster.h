#pragma once

#include <string>
#include <vector>

#include "scheduler/placement.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The slots, processors, memory, GPUs, labels and pools that each rank of the job's trials needs on its
// worker, which must run jobs of the project.
RankShape ShapeOf(const v1::TuningJobSpec& spec, const std::string& project = "");

// How many ranks of the job a worker with so many slots and GPUs has room for. `gpus` -1: as many as they
// need.
int64_t RanksPerWorker(const v1::TuningJobSpec& spec, int64_t slots, int64_t gpus);

// The job's weight among the jobs of its priority; more than 0 in a checked spec.
double WeightOf(const v1::TuningJobSpec& spec);

// Whether this hyperparameter is the number of ranks. The trainer does not get such a hyperparameter.
bool IsNodesParameter(const v1::TuningJobSpec& spec, const std::string& name);

// The numbers of ranks from 1 to 64 that a trial of the job may have, ascending and distinct.
std::vector<int32_t> NodeCounts(const v1::TuningJobSpec& spec);

}  // namespace winnow
