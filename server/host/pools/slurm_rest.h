#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/host/pools/fields.h"
#include "server/host/pools/slurm_calls.h"

namespace winnow {

// Slurm by its REST service, slurmrestd, where its commands are not. `fields`: the pool's `slurm`, with the
// service in `rest`. Null: it is wrong, and `problems` says why.
std::unique_ptr<SlurmCalls> MakeSlurmRest(Fields& fields, std::vector<std::string>& problems);

// Reads the jobs of an answer; what is no job is left out. An array that waits is its elements. For tests.
std::vector<SlurmJob> ReadSlurmRestJobs(const std::string& answer);

// The newest version of the service's interface that both it and this program know, such as "v0.0.38"; "":
// there is none. `openapi`: what the service answers for /openapi/v3. For tests.
std::string SlurmRestVersion(const std::string& openapi);

}  // namespace winnow
