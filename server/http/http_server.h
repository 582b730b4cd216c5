#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/grpc/tls.h"
#include "server/http/app.h"
#include "server/http/request_handler.h"

namespace winnow {

// Limits of a connection. Each is far above the needs of our own clients.
struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 4 << 20;
  size_t answer_bytes = 256u << 20;               // of all answers that are being sent
  std::chrono::milliseconds handshake{10'000};    // of TLS
  std::chrono::milliseconds read_header{10'000};  // from its first byte
  std::chrono::milliseconds read_body{30'000};    // from the header's end
  std::chrono::milliseconds idle{75'000};         // before a request's first byte
  std::chrono::milliseconds write{60'000};        // for 256 KiB of an answer, or one part of a stream
  std::chrono::milliseconds heartbeat{15'000};    // on a silent stream
  std::chrono::milliseconds call{120'000};        // of a unary method: GetLogs waits up to 60 s
  size_t connections = 12'000;                    // also limited by the process's file limit
  size_t streams = 2'000;                         // of events at a time
};

struct HttpListenOptions {
  std::string address = "127.0.0.1:8080";  // HOST:PORT; port 0: chosen by the system
  std::string flag = "--http";             // that names the address, for messages
  TlsFiles tls = {};
  HttpLimits limits = {};
  int threads = 2;  // 1 or more
};

struct HttpServerOptions {
  std::string address = "127.0.0.1:8080";  // as of HttpListenOptions
  TlsFiles tls = {};
  bool tokens_required = false;
  std::string relay_key = {};  // of the gRPC server
  HealthProbe probe = {};
  bool leads = true;  // false: a standby's
  std::function<std::string(const std::function<bool(const std::string&)>& shows)> metrics = {};
  std::shared_ptr<SignInRoutes> sign_in = nullptr;
  HttpLimits limits = {};
  int threads = 2;               // 1 or more
  bool leader_signs_in = false;  // as of HttpAppOptions
};

// HTTP/1.1 beside gRPC: the same methods as JSON, events, and the web page's files, on a few threads. A
// connection that is idle or slow is closed after its timeout, the oldest of these at once when there are too
// many. HTTP cannot block gRPC.
class HttpServer {
 public:
  // `channel` leads to the gRPC server within this process. UNAVAILABLE: the address cannot be bound.
  // INVALID_ARGUMENT: the TLS files are unusable.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                           std::shared_ptr<grpc::Channel> channel);
  // The same connections for requests that `handler` answers.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpListenOptions options,
                                                           std::unique_ptr<RequestHandler> handler);
  ~HttpServer();

  int port() const;
  // /healthz answers 503 from now on.
  void AnnounceStop();
  // Stops accepting, and closes idle connections. Pending answers may take until `grace` is over. REQUIRES:
  // the gRPC server has ended its streams; otherwise they are cut off at the end of `grace`.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(std::unique_ptr<Impl> impl);
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace winnow
