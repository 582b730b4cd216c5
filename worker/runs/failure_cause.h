#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"
#include "worker/host/process.h"

namespace winnow {

// Returns the line of a failed program's standard error that gives the cause: the exception of a Python
// traceback, otherwise the last meaningful line. Skips blank lines, rulers, carets, warnings and progress
// bars, unless there is nothing else. Values of arguments that the program does not know are left out.
// Trimmed, at most 500 bytes; empty: no such line.
std::string FindCause(std::string_view words);

// Whether a program failed because the disk of one of the folders is full: `cause` has the system's words for
// a full disk, and less than 16 MiB are free in one of the folders. Words alone are not enough, because the
// full disk may be another one, such as a small /dev/shm; that is the program's own failure.
bool DiskIsFull(std::string_view cause, std::initializer_list<std::filesystem::path> folders);

// Returns an outcome with the current time for a failure before the start, caused by the trainer.
v1::Outcome FailedOutcome(std::string reason);
// A failure to prepare what the job asked for: SETUP_FAILED, DATA_FAILED or IMAGE_FAILED.
// FAILED_PRECONDITION.
absl::Status NotPreparedError(v1::Outcome::Cause cause, std::string_view reason);

// FailedOutcome for a failure without the trainer's fault. A NotPreparedError has its cause. UNAVAILABLE:
// something from the server or the network is missing, no fault of this machine; any other error is the
// machine's own.
v1::Outcome NotStartedOutcome(const absl::Status& status);
// The outcome of an assignment that Trainers::Start gave that error.
v1::Outcome UnstartedOutcome(const absl::Status& status);

// The reason of a failure with this cause (FindCause); "": none is known. The cause comes first, but after a
// signal from outside, which explains more than the program's words.
std::string FailureReason(const ProcessEnd& end, const std::string& cause);

}  // namespace winnow
