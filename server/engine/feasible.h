#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/placement.h"
#include "scheduler/validate.h"
#include "server/engine/projects/project_book.h"
#include "server/engine/workers.h"
#include "store/workers.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The room of every known machine: of workers that are present or leave, and of lost ones, which may come
// back. A name counts once, by its newest registration. Workers that have left do not count.
std::vector<WorkerRoom> KnownMachines(const std::vector<WorkerRow>& workers);

// Why neither the `known` machines nor the `declared` ones could ever hold the clusters that the job of that
// project asks for. Empty: they could, or there are no machines yet that run its jobs, for which a job waits.
std::vector<Violation> CheckFits(const v1::TuningJobSpec& spec, const std::string& project,
                                 const std::vector<WorkerRoom>& known,
                                 const std::vector<WorkerRoom>& declared);

// INVALID_ARGUMENT with what CheckFits finds for the machines of these workers. Declared machines whose
// worker_id is the name of a worker have the processors and the memory that it has told.
absl::Status Fits(const v1::TuningJobSpec& spec, const std::string& project, const Workers& workers,
                  std::vector<WorkerRoom> declared);

// INVALID_ARGUMENT if the quota of the project, or of the person in it, is less than a trial of the job
// needs.
absl::Status FitsQuotas(const v1::TuningJobSpec& spec, const std::string& project, const std::string& person,
                        const ProjectBook& projects);

// RESOURCE_EXHAUSTED if the source of a new job would exceed the quota of storage of the project, or of the
// person in it.
absl::Status FitsStorageQuotas(const v1::Manifest& source, const std::string& project,
                               const std::string& person, const ProjectBook& projects, int64_t now_us);

// "4 slots, 2 processors, 8 GiB and 1 GPU"
std::string ShareText(const RankShape& shape);
// " in pool cpu or big with labels gpu, zone=a"; "" if none are asked for
std::string LabelsText(const RankShape& shape);

// Why the workers have room for more ranks than `most`, the most on workers that reach each other, and how to
// make use of it. Begins with a space; "": they have no more room.
std::string OutOfReachText(const std::vector<WorkerRoom>& workers, const RankShape& shape, int64_t most);

// What a job that runs no trial waits for, in a sentence: any worker, larger workers, or free room. `whole`:
// the rooms, when empty, of the workers that may be given something.
std::string WaitsFor(int32_t nodes, const RankShape& shape, const std::vector<WorkerRoom>& whole);

}  // namespace winnow
