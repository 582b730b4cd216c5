#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/cluster.h"
#include "server/context.h"
#include "server/jobs.h"
#include "server/sync.h"

namespace winnow {

// Every use case, without threads: called inside a batch's transaction, one at a time. Owner: the coordinator
// thread.
class Engine {
 public:
  Engine(Store& store, EngineOptions options);

  // Reads everything anew from the tables. After an error the engine must not be used.
  absl::Status Load();

  // ---- use cases
  absl::StatusOr<std::string> CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id);
  absl::Status StopJob(const std::string& id, const std::string& reason);
  absl::Status DeleteJob(const std::string& id);
  void Sync(const v1::SyncRequest& request, SyncDone done) {
    desk_.Take(*jobs_, *cluster_, request, std::move(done));
  }
  std::vector<v1::Worker> ListWorkers(bool include_gone) const;

  // ---- the batch, in this order
  void Begin();           // forgets the failure of the last one
  void FireDeadlines();   // leases, wall times
  absl::Status Finish();  // gives out free slots and writes derived rows; not OK: roll back
  void Committed();       // answers workers
  // The batch is not in the file: every waiting worker is told to come again. Load follows.
  void RolledBack(const absl::Status& status);

  std::set<std::string> TakeChanged() { return std::exchange(context_.changed, {}); }
  // In Clock::steady_us.
  std::optional<int64_t> next_deadline() const { return context_.deadlines.next(); }
  void StopHolding(const absl::Status& status);

  Jobs& jobs() { return *jobs_; }
  Cluster& cluster() { return *cluster_; }
  Context& context() { return context_; }
  const RefusedReports& refused() const { return desk_.refused(); }

 private:
  Context context_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Cluster> cluster_;
  SyncDesk desk_;
};

}  // namespace winnow
