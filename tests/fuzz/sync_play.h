#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/engine/engine.h"
#include "store/store.h"
#include "tests/fuzz/fuzz.h"

namespace winnow::fuzz {

// The engine over tables in memory. Each call is a batch of its own; what must hold of the cluster is checked
// after it.
class Play {
 public:
  Play();

  void CreateJob(size_t which);  // of two kinds
  void StopJob(size_t number);   // by order of creation
  void Sync(const v1::SyncRequest& request);
  void Tick(int64_t us);
  // As a new process on the same tables.
  void Reload();
  // Everyone is answered; the tables say what the memory said.
  void End();

  // The assignments that the worker was told of last.
  const std::set<std::string>& told(const std::string& worker) const;
  // One of all that were ever told; or no assignment's.
  std::string AnyId(Input& input) const;

 private:
  void Batch(const std::function<void()>& use_case);
  void Answered(const std::string& worker, const absl::StatusOr<v1::SyncResponse>& answer);
  // Reports of the request that must be taken: by a live assignment's own worker, within its budget.
  std::vector<v1::Report> Due(const v1::SyncRequest& request);
  void CheckKept(const v1::SyncRequest& request, const std::vector<v1::Report>& due);
  void CheckCluster();
  void CheckTables();
  std::unique_ptr<Engine> MakeEngine();

  int64_t now_us_ = 1'700'000'000'000'000;
  uint64_t tokens_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::string> jobs_;
  std::map<std::string, std::set<std::string>> told_;  // by worker
  std::map<std::string, std::string> owner_;           // of each assignment: the worker that was told of it
  std::vector<std::string> ids_;                       // of all that were told
  std::map<std::string, int32_t> slots_;               // the most that each worker has said
  int asked_ = 0, answered_ = 0;
};

}  // namespace winnow::fuzz
