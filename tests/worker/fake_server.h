#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {

// A WorkerService in this process that follows the contract and records what it receives.
class FakeServer : public v1::WorkerService::Service {
 public:
  // The data received for one assignment. The first report for a level and metric counts.
  struct Known {
    std::map<std::pair<int64_t, std::string>, double> values;
    int64_t reports_received = 0;
    std::map<int, std::string> logs;  // by stream
    std::map<int, bool> truncated;
    bool ended = false;
    int64_t values_at_end = -1;  // number of values received before the outcome
    v1::Outcome outcome;
  };
  struct Told {
    std::map<std::string, Known> assignments;
    std::vector<v1::SyncRequest> requests;
    bool left = false;
  };

  static constexpr int kNoNetwork = -1;  // only Sync is called, from this process

  // Port 0: chosen by the system. `wanted`: the assignments that the worker should run from the start.
  explicit FakeServer(int port = 0, const std::vector<v1::Assignment>& wanted = {});
  ~FakeServer() override;
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Answers all held calls, and holds none any more.
  void Close();

  // Changes what the worker should run.
  void Assign(const v1::Assignment& assignment);
  void Withdraw(const std::string& id);
  // Answers the next `count` Syncs with `status`, and keeps their content if `commits`.
  void Fail(int count, grpc::Status status, bool commits);
  // Refuses the worker ids it has seen, as if they were lost, and wants nothing any more.
  void GiveUp();

  // Waits until `condition` holds for the received data; false if it does not within 60 s.
  bool Await(const std::function<bool(const Told&)>& condition);
  bool AwaitEnd(const std::string& id);
  Told told();
  Known known(const std::string& id);

  grpc::Status Sync(grpc::ServerContext* context, const v1::SyncRequest* request,
                    v1::SyncResponse* response) override;

 private:
  void Record(const v1::SyncRequest& request);
  bool Differs(const v1::SyncRequest& request) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, v1::Assignment> wanted_;
  Told told_;
  std::set<std::string> seen_ids_;
  std::set<std::string> refused_ids_;
  int fail_count_ = 0;
  grpc::Status fail_status_;
  bool fail_commits_ = false;
  uint64_t newest_ = 0;
  bool closing_ = false;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Returns assignment `id` of job "job", trial 1, attempt 1, that runs `command` in /tmp; grace period 5 s,
// metric "loss" from "loss=…".
v1::Assignment MakeAssignment(const std::string& id, const std::vector<std::string>& command);

}  // namespace winnow
