#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/grpc/tls.h"
#include "server/http/app.h"

namespace winnow {

// What a connection may take. Each is far from what a client of ours does.
struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 4 << 20;
  std::chrono::milliseconds handshake{10'000};    // of TLS
  std::chrono::milliseconds read_header{10'000};  // from its first byte
  std::chrono::milliseconds read_body{30'000};    // from the header's end
  std::chrono::milliseconds idle{75'000};         // before a request's first byte
  std::chrono::milliseconds write{60'000};        // of 256 KiB of an answer, or of one part of a stream
  std::chrono::milliseconds heartbeat{15'000};    // of a stream that is silent
  std::chrono::milliseconds call{120'000};  // of a method with one answer: a log is waited for up to 60 s
  size_t connections = 12'000;              // and no more than the files that the process may open leave
  size_t streams = 2'000;                   // of events at a time
};

struct HttpServerOptions {
  std::string address = "127.0.0.1:8080";  // HOST:PORT; port 0: chosen by the system
  TlsFiles tls = {};
  bool tokens_required = false;
  std::string relay_key = {};  // of the gRPC server
  HealthProbe probe = {};
  std::function<std::string()> metrics = {};
  HttpLimits limits = {};
  int threads = 2;  // 1 or more
};

// HTTP/1.1 beside gRPC: JSON of the same methods, events, and the web page's files, by a few threads. A
// connection that says nothing, or too slowly, is closed when it has had its time, and the oldest of these at
// once when there are too many; whatever HTTP does, gRPC goes on.
class HttpServer {
 public:
  // `channel` leads to the gRPC server within this process. UNAVAILABLE: the address cannot be had.
  // INVALID_ARGUMENT: the files of TLS cannot serve.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                           std::shared_ptr<grpc::Channel> channel);
  ~HttpServer();

  int port() const;
  // /healthz says 503 from now on.
  void AnnounceStop();
  // Takes no more connections, and closes those that wait for a request. What is being answered may be until
  // `grace` is over. REQUIRES the gRPC server has ended its streams, or they are cut off then.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace winnow
