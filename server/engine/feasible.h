#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/placement.h"
#include "scheduler/validate.h"
#include "server/engine/workers.h"
#include "store/workers.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The machines that are known: those present, and those that were lost and may come back; a name counts once,
// as it was when it was last registered. Workers that left are not.
std::vector<WorkerRoom> KnownMachines(const std::vector<WorkerRow>& workers);

// What is wrong with asking for clusters that neither the `known` machines nor the `declared` ones could ever
// hold; empty where there are neither, for then a job waits for workers to come.
std::vector<Violation> CheckFits(const v1::TuningJobSpec& spec, const std::vector<WorkerRoom>& known,
                                 const std::vector<WorkerRoom>& declared);

// INVALID_ARGUMENT with what CheckFits finds for the machines of these workers.
absl::Status Fits(const v1::TuningJobSpec& spec, const Workers& workers,
                  const std::vector<WorkerRoom>& declared);

// "4 slots, 2 processors and 8 GiB"
std::string ShareText(const RankShape& shape);
// " with labels gpu, zone=a"; "" if there are none
std::string LabelsText(const RankShape& shape);

// What a job of whose trials none runs waits for, in a sentence: workers at all, wider ones, or room on those
// there are. `whole`: of the workers that may be given something.
std::string WaitsFor(int32_t nodes, const RankShape& shape, const std::vector<WorkerRoom>& whole);

}  // namespace winnow
