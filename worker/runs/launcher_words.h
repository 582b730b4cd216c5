#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// What the programs that start the ranks of a trial, Open MPI's mpirun and torchrun, write to standard error
// beside what the ranks themselves write.

// "[HOST:PID] " begins what Open MPI's library says in a rank; the rest of such a line, or the whole line.
std::string_view WithoutMpiRank(std::string_view line);
// Matches the lines of Open MPI that say less than those above them or than mpirun's own message.
bool IsMpiTrace(std::string_view line);
// Takes mpirun's own messages out of the lines, which stand between rulers below what the program has said.
// Returns the last of them in one line; "": there is none.
std::string TakeMpirunMessages(std::vector<std::string_view>& lines);

// The exception of torchrun itself.
constexpr std::string_view kTorchrunException = "ChildFailedError";
// Matches the lines of torchrun's own log.
bool IsOfTorchrun(std::string_view line);
// Leaves the lines above torchrun's word that a process has failed. Returns the word; "": there is none.
std::string_view TakeWordOfTorchrun(std::vector<std::string_view>& lines);

}  // namespace winnow
