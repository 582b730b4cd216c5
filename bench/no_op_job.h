#pragma once

#include <string>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Returns a job of `trials` random trials that minimise "loss"; its trainer is /bin/sh -c `command`.
v1::TuningJobSpec NoOpJob(int trials, const std::string& folder, const std::string& command);

// Returns the path of winnow-server beside this program.
std::string ServerBinary();

}  // namespace winnow
