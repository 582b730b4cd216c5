#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/engine/hub.h"
#include "server/engine/metrics.h"
#include "server/grpc/forwarding.h"
#include "server/grpc/grpc_server.h"
#include "server/grpc/health_watch.h"
#include "server/http/http_server.h"
#include "server/reads/reads.h"
#include "store/leadership.h"
#include "store/store.h"

namespace winnow {

struct StandbyOptions {
  std::string database = {};  // of PostgreSQL
  GrpcServerOptions grpc = {};
  std::string leader_ca = {};                         // see LeaderLink
  std::function<absl::Status(int port)> opened = {};  // called when it listens; null for none
  // The web page beside gRPC; null for none.
  std::function<absl::StatusOr<std::unique_ptr<HttpServer>>(GrpcServer&, HealthProbe, Metrics&)> http = {};
};

// A server that waits to lead: it answers reads and passes everything else on to the leader. It listens only
// while it has a connection to the leader and reads who may do what, so that a client of several addresses
// never stays with a standby that can do nothing for it.
class Standby {
 public:
  explicit Standby(StandbyOptions options);
  // Ends all calls.
  ~Standby();

  // Frees the ports; reads that still run end later, on their own.
  void Close();

  // To be called many times a second; on one thread.
  void See(const OtherLeader& leader);

  // Where it listens, or did last: the address of the options, with the port that the system chose.
  const std::string& address() const { return options_.grpc.address; }

 private:
  struct Running {
    Metrics metrics;
    Hub hub;
    std::unique_ptr<Reader> reader;
    std::unique_ptr<GrpcServer> grpc;
    std::unique_ptr<HttpServer> http;
  };
  using Time = std::chrono::steady_clock::time_point;

  // Reads who may do what, and tells the running servers.
  absl::Status Refresh();
  absl::Status Open();

  StandbyOptions options_;
  LeaderLink link_;
  std::unique_ptr<Store> store_;
  Permissions permissions_;
  std::unique_ptr<Running> running_;
  std::thread closing_;
  Time connected_ = {}, refreshed_ = {};  // when it was so last
  Time next_refresh_ = {}, next_open_ = {};
  std::string told_;  // the last problem
};

}  // namespace winnow
