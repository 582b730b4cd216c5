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

// The engine over tables in memory. Each call is a separate batch; the cluster's invariants are checked after
// it.
class Play {
 public:
  Play();

  void CreateJob(size_t which);  // of two kinds
  void StopJob(size_t number);   // by order of creation
  void Sync(const v1::SyncRequest& request);
  void Tick(int64_t us);
  // Like a new process on the same tables.
  void Reload();
  // Everyone has been answered; the tables equal the state in memory.
  void End();

  // The assignments in the newest answer to the worker.
  const std::set<std::string>& told(const std::string& worker) const;
  // One of all assignments ever sent; or an unknown id.
  std::string AnyId(Input& input) const;

 private:
  void Batch(const std::function<void()>& use_case);
  void Answered(const std::string& worker, const absl::StatusOr<v1::SyncResponse>& answer);
  // Reports of the request that must be accepted: from a live assignment's own worker, within its budget.
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
  std::map<std::string, std::string> owner_;           // of each assignment: its worker
  std::vector<std::string> ids_;                       // of all assignments sent
  std::map<std::string, int32_t> slots_;               // the most that each worker has reported
  int asked_ = 0, answered_ = 0;
};

}  // namespace winnow::fuzz
