#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {

// Workers that train nothing: each holds one assignment and reports rising levels for it.
class ReportingWorkers {
 public:
  // connect(i): the channel of worker i. REQUIRES: a job of as many trials, or a server that answers without
  // one.
  ReportingWorkers(int count, const std::function<std::shared_ptr<grpc::Channel>(int)>& connect);

  // Syncs each until it holds an assignment. Ends the program if one gets none.
  void Join();
  // Starts a Sync of worker `i` with `reports` reports; calls done(ok). One at a time per worker.
  void Sync(int i, int reports, std::function<void(bool)> done);

  int64_t reported() const;

 private:
  struct Worker {
    std::string id;
    std::string assignment;
    int64_t resource = 0;
    std::unique_ptr<v1::WorkerService::Stub> stub;
    std::unique_ptr<grpc::ClientContext> context;
    v1::SyncRequest request;
    v1::SyncResponse response;
  };
  static void Prepare(Worker& worker, int reports);
  std::vector<Worker> workers_;
};

}  // namespace winnow
