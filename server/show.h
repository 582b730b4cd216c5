#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/engine/metrics.h"
#include "server/grpc/grpc_server.h"
#include "server/grpc/health_watch.h"
#include "server/http/http_server.h"

namespace winnow {

struct ShowOptions {
  std::string file = {};  // a database of SQLite
  GrpcServerOptions grpc = {};
  std::function<absl::Status(int port)> opened = {};  // called when it listens
  // The web page beside gRPC.
  std::function<absl::StatusOr<std::unique_ptr<HttpServer>>(GrpcServer&, HealthProbe, Metrics&)> http = {};
  std::function<bool()> asked_to_end = {};
  std::function<void()> wait_for_end = {};
};

// Serves what reads the file, as it was when this was called, until it is asked to end; whatever else is
// called is refused. The file is not changed. Not OK: the file cannot be shown (see ShownCopy), nobody could
// sign in, or the server could not listen.
absl::Status Show(ShowOptions options);

}  // namespace winnow
