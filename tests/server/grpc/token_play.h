#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "rpc/channel.h"
#include "server/grpc/grpc_server.h"
#include "server/reads/reads.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "winnow/v1/admin.grpc.pb.h"

namespace winnow {

// A Play behind gRPC that requires tokens, on a port chosen by the system and on a Unix socket.
class TokenPlay : public Play {
 public:
  explicit TokenPlay(const TlsFiles& tls = {}, double calls_per_second = AuthOptions().calls_per_second,
                     ArtifactStore* artifacts = nullptr)
      : Play(15'000'000, artifacts) {
    options.artifacts = artifacts;
    reader = *Reader::Start(file(), time.clock());
    options.address = "127.0.0.1:0";
    options.tls = tls;
    options.socket = folder.file("state") + "/server.sock";
    options.auth.tokens_required = true;
    options.files = *ReadableFolders::Only({});  // as winnow-server, unless it is given --read-dir
    options.auth.calls_per_second = calls_per_second;
    options.auth.clock = time.clock();
    StartServer();
  }
  ~TokenPlay() { server = nullptr; }

  void StartServer() {
    server = nullptr;
    auto started = GrpcServer::Start(options, coordinator(), *reader, hub);
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    server = *std::move(started);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }
  Endpoint OverSocket() const { return {.address = "unix:" + options.socket}; }
  Endpoint OverTcp(const std::string& token) const { return {.address = address(), .token = token}; }

  v1::CreateTokenResponse MakeToken(v1::Role role, int64_t valid_seconds = 0,
                                    const std::string& name = "of a test") {
    v1::CreateTokenRequest request;
    request.set_role(role);
    request.set_name(name);
    request.set_valid_seconds(valid_seconds);
    v1::CreateTokenResponse made;
    const grpc::Status status = Admin(OverSocket(), &v1::AdminService::Stub::CreateToken, request, made);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return made;
  }

  // Calls a method of AdminService, or of TuningService, with a deadline.
  template <typename Method, typename Request, typename Response>
  grpc::Status Admin(const Endpoint& from, Method method, const Request& request, Response& response) const {
    return Do(*v1::AdminService::NewStub(*Connect(from)), method, request, response);
  }
  // A client with a token of its own.
  std::unique_ptr<v1::TuningService::Stub> Client(v1::Role role, const std::string& name) {
    return v1::TuningService::NewStub(*Connect(OverTcp(MakeToken(role, 0, name).secret())));
  }
  // Calls a method with a deadline.
  template <typename Stub, typename Method, typename Request, typename Response>
  static grpc::Status Do(Stub& stub, Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return (stub.*method)(&context, request, &response);
  }
  grpc::Status List(const Endpoint& from) const {
    v1::ListTuningJobsResponse response;
    return Do(*v1::TuningService::NewStub(*Connect(from)), &v1::TuningService::Stub::ListTuningJobs,
              v1::ListTuningJobsRequest(), response);
  }

  GrpcServerOptions options;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<GrpcServer> server;
};

}  // namespace winnow
