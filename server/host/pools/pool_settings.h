#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/host/pools/pool.h"

namespace winnow {

// What is known of a pool whatever its engine.
struct PoolSettings {
  std::string name;  // lower-case letters, digits and "-", at most 20 characters
  std::string kind;  // SLURM, KUBERNETES, COMMAND, LOCAL
  WorkerShape worker;
  std::vector<std::string> worker_command;    // the program and what comes before the server's own arguments
  std::vector<std::string> worker_arguments;  // further ones, after these
  std::string server;                         // the address at which workers reach the server; "": its own
  std::string tls_ca;                         // contents of the certificate that they trust; "": the system's
  int32_t min_nodes = 0;
  int32_t max_nodes = 1;
  int32_t max_queued = 4;  // allocations that wait at the engine
  std::chrono::seconds idle_timeout{300};
  std::chrono::seconds time_limit{0};       // 0: the engine's own; the workers then do not know their end
  std::chrono::seconds start_timeout{600};  // from RUNNING to a worker that has registered
  std::chrono::seconds grace{120};          // of the time limit: for workers to leave
  std::chrono::milliseconds poll{5000};     // how often the engine is asked while something changes there
  double cost_per_node_hour = 0;
};

// What a pool has of the server's machine.
struct PoolPlace {
  std::filesystem::path folder;  // for its own files, private to the server's user
  std::string prefix;  // of the names of all its allocations: "winnow-<8 hexadecimal digits>-<pool>"
};

// Errors in the configuration, each naming the field from the pool on: "slurm.partition: is 3; expected a
// string".
using PoolProblems = std::vector<std::string>;

// Makes the pool of a kind from the object of the pool's configuration that is named as the kind, in lower
// case
// ("slurm", "kubernetes", "command"); null: it is absent. Adds to `problems` and returns null if it is wrong.
using MakePool = std::unique_ptr<Pool>(const PoolSettings& settings, const PoolPlace& place,
                                       const nlohmann::json& own, PoolProblems& problems);

}  // namespace winnow
