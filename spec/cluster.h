#pragma once

#include <string>
#include <vector>

#include "scheduler/placement.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What each rank of the job's trials takes of its worker, defaults filled in.
RankShape ShapeOf(const v1::TuningJobSpec& spec);

// The job's part among those of its priority; more than 0 in a checked spec.
double WeightOf(const v1::TuningJobSpec& spec);

// Whether it is the number of ranks that this hyperparameter says, so that no trainer is given it by itself.
bool IsNodesParameter(const v1::TuningJobSpec& spec, const std::string& name);

// How many ranks a trial of the job may have, rising, without repetition; those outside 1 to 64 are left out.
std::vector<int32_t> NodeCounts(const v1::TuningJobSpec& spec);

}  // namespace winnow
