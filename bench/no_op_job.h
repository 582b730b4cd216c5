#pragma once

#include <cstdint>
#include <string>

#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Returns a job of `trials` random trials that minimise "loss"; its trainer is /bin/sh -c `command`.
v1::TuningJobSpec NoOpJob(int trials, const std::string& folder, const std::string& command);

// Fills in a Sync of a worker with one slot that holds this assignment ("": none) and reports as many levels
// of it above `resource`.
void FillSync(v1::SyncRequest& request, const std::string& worker_id, const std::string& assignment,
              int64_t resource, int reports);

// Returns the path of winnow-server beside this program.
std::string ServerBinary();

}  // namespace winnow
