#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/tuning_service.h"
#include "server/worker_service.h"

namespace winnow {

// "host:port" with a host that is this machine's loopback. INVALID_ARGUMENT says what is wrong; beyond
// loopback TLS and tokens would be required, which this version does not have.
absl::Status CheckListenAddress(const std::string& address);

// The gRPC server with its services, health and reflection.
class GrpcServer {
 public:
  // Port 0: chosen by the system. UNAVAILABLE if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const std::string& address,
                                                           Coordinator& coordinator, Reader& reader,
                                                           Hub& hub);
  ~GrpcServer();

  int port() const { return port_; }
  // Health says NOT_SERVING from now on; calls are still taken.
  void AnnounceStop();
  // Ends streams and held calls, waits for the others until `grace` is over, then cancels them.
  void Stop(std::chrono::milliseconds grace);

 private:
  GrpcServer(Coordinator& coordinator, Reader& reader, Hub& hub);
  Coordinator& coordinator_;
  Hub& hub_;
  TuningService tuning_;
  WorkerService worker_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace winnow
