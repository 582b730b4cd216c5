#pragma once

#include <map>
#include <string>
#include <vector>

#include "winnow/v1/worker.pb.h"
#include "worker/runs/trial_directories.h"

namespace winnow {

// Resources that a trainer has to itself while it runs.
struct TrainerSeat {
  int slot = 0;       // the lowest number, from 0, that no other trainer of the worker has
  int free_port = 0;  // for a rendezvous if the assignment names none
};

// Values that a worker passes to every process it starts.
struct TrainerHost {
  std::string host;    // the worker's own
  int local_rank = 0;  // among the ranks of the trial on this worker
  TrainerSeat seat;
  std::string work;                                 // absolute path of the worker's folder
  std::map<std::string, std::string> secrets = {};  // variables and values
  int control = -1;                                 // the descriptor of WINNOW_CONTROL_FD; -1: none
  std::string python = "";                          // put before PYTHONPATH; empty: nothing is
  std::string credentials = "";                     // the folder of WINNOW_RANK_CREDENTIALS; empty: none
};

// Returns the position of the assignment's rank among its peers on the same worker.
int LocalRank(const v1::Assignment& assignment);

// The variables by which a process finds the devices with these ids, and no others.
std::map<std::string, std::string> GpuVariables(const std::vector<std::string>& ids);

// Returns the complete environment of docs/trainer-contract.md, "NAME=value". In order, later values
// replacing earlier ones: `inherited` without the contract's names and the server's address, variables of the
// assignment, secrets, values that only the worker knows.
std::vector<std::string> TrainerEnvironment(const v1::Assignment& assignment,
                                            const TrialDirectories& directories, const TrainerHost& host,
                                            const std::vector<std::string>& inherited);

// The variables of the environment that a part of a trial has for itself, "NAME=value"; the others are the
// same in every part that a waiting trainer may go on with.
std::vector<std::string> PartEnvironment(const v1::Assignment& assignment, const TrainerSeat& seat);

// The environment of this process.
std::vector<std::string> OwnEnvironment();

}  // namespace winnow
