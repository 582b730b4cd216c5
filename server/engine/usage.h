#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/engine/context.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

struct WorkerEntry;

// Stores the usage that workers report (SyncRequest.usage). Samples are summed up in memory; each step of 10
// s becomes a row once it is over. Samples that came before are left out, and impossible values are clamped:
// no Sync is refused for its usage. Owner: the coordinator thread.
class UsageRecorder {
 public:
  // Use of a GPU by all processes, 0 to 1; absent: not known.
  struct GpuPart {
    std::optional<double> utilization;
    std::optional<double> memory;
  };
  struct Newest {
    double cpu = 0;                            // of the host: 0 to 1
    double memory = 0;                         // likewise
    std::map<std::string, GpuPart> gpus = {};  // by id
  };

  explicit UsageRecorder(Context& context) : context_(context) {}

  // Drops what is not written yet: at most one step.
  void Clear();
  // Inside the transaction. REQUIRES the worker was admitted.
  void Take(WorkerEntry& worker, const v1::SyncRequest& request);
  // The rank is gone: writes its last step.
  void Ended(int64_t assignment);
  // The newest sample of the worker with that name. Null: it has sent none yet.
  const Newest* Find(const std::string& name) const;

 private:
  // A step that is being filled.
  struct Open {
    int64_t start_s = -1;  // -1: none yet
    int64_t samples = 0;
    double mean = 0;  // sum over the samples
    double highest = 0;
    double slots = 0;  // sum over the samples
  };
  struct Host {
    int64_t key = 0;
    std::string host;
    int32_t slots = 0;
    int64_t put_s = 0;    // when its row was written
    int64_t said_us = 0;  // time of the newest sample, as the worker says
    Newest newest;
    Open open;
  };

  Host& HostOf(const WorkerEntry& worker, int64_t now_s);
  void Add(Host& host, int64_t time_s, const v1::UsageSample& sample, double slots);
  void Write(const Host& host);
  void AddRank(int64_t assignment, int64_t elapsed_s, const v1::AssignmentUsage& usage);
  void WriteRank(int64_t assignment, const Open& open);

  Context& context_;
  std::map<std::string, Host> hosts_;  // by the worker's name
  std::map<int64_t, Open> ranks_;      // by assignment
  int64_t rolled_up_s_ = 0;            // when the coarser steps were made last
};

}  // namespace winnow
