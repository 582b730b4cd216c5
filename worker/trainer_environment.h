#pragma once

#include <map>
#include <string>
#include <vector>

#include "winnow/v1/worker.pb.h"
#include "worker/trial_directories.h"

namespace winnow {

// What a trainer has to itself while it runs.
struct TrainerSeat {
  int slot = 0;       // the lowest number, from 0, that no other trainer of the worker has
  int free_port = 0;  // for a rendezvous, where the assignment names none
};

// What a worker gives to every process that it starts.
struct TrainerHost {
  std::string host;    // the worker's own
  int local_rank = 0;  // among the ranks of the trial on this worker
  TrainerSeat seat;
  std::string work;    // absolute path of the worker's folder
  std::map<std::string, std::string> secrets = {};  // variables and values
};

// Position of the assignment's rank among the peers that are on the same worker.
int LocalRank(const v1::Assignment& assignment);

// The whole environment of docs/trainer-contract.md, "NAME=value": `inherited`, without the contract's own
// names and what tells how a server is reached, then what the server gives with the assignment, then secrets, then what only the
// worker knows. Later ones replace
// earlier ones.
std::vector<std::string> TrainerEnvironment(const v1::Assignment& assignment,
                                            const TrialDirectories& directories, const TrainerHost& host,
                                            const std::vector<std::string>& inherited);

// This process's own.
std::vector<std::string> OwnEnvironment();

}  // namespace winnow
