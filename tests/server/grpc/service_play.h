#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/grpc/grpc_server.h"
#include "server/reads/reads.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {

// A Play behind real gRPC, on a port chosen by the system.
class ServicePlay : public Play {
 public:
  ServicePlay() {
    reader = *Reader::Start(file(), time.clock());
    auto started = GrpcServer::Start({.address = "127.0.0.1:0"}, coordinator(), *reader, hub);
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    server = *std::move(started);
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()),
                                  grpc::InsecureChannelCredentials());
    tuning = v1::TuningService::NewStub(channel);
    workers = v1::WorkerService::NewStub(channel);
  }
  ~ServicePlay() { server = nullptr; }

  // Calls a method with a deadline.
  template <typename Method, typename Request, typename Response>
  grpc::Status Call(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return ((*tuning).*method)(&context, request, &response);
  }

  std::unique_ptr<Reader> reader;
  std::unique_ptr<GrpcServer> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::TuningService::Stub> tuning;
  std::unique_ptr<v1::WorkerService::Stub> workers;
};

}  // namespace winnow
