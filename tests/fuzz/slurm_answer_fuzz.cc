// What Slurm answers: lines of squeue, and JSON of slurmrestd. Any bytes are read as jobs that can be shown,
// and an array that waits is as many jobs as it has elements, within bounds.

#include <set>

#include "server/host/pools/slurm_commands.h"
#include "server/host/pools/slurm_pool.h"
#include "server/host/pools/slurm_rest.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  const std::string bytes(input.rest());
  for (const SlurmJob& job : ReadSqueue(bytes)) static_cast<void>(ReadSlurmJob(job));
  std::set<std::string> ids;
  for (const SlurmJob& job : ReadSlurmRestJobs(bytes)) {
    fuzz::Require(!job.id.empty() && !job.state.empty(), "a job has an id and a state");
    const Allocation allocation = ReadSlurmJob(job);
    fuzz::Require(allocation.id == job.id, "its allocation has its id");
    fuzz::Require(job.index.empty() || job.id.ends_with("_" + job.index), "an element's id has its index");
    ids.insert(job.id);
  }
  fuzz::Require(ids.size() <= 1'000'000, "an array has bounds");
  const std::string version = SlurmRestVersion(bytes);
  fuzz::Require(version.empty() || bytes.find(version) != std::string::npos,
                "the version is one that it has");
  return 0;
}
