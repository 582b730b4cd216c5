#include "bench/echo_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

class Echo final : public v1::WorkerService::CallbackService {
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context, const v1::SyncRequest*,
                                 v1::SyncResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

void EchoServer::Serve() {
  Echo service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  fmt::print("{}\n", port);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
}

EchoServer::EchoServer() {
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    execl("/proc/self/exe", "/proc/self/exe", kArgument, nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  FILE* from = fdopen(out[0], "r");
  int port = 0;
  if (fscanf(from, "%d", &port) != 1) std::abort();
  fclose(from);
  address_ = fmt::format("127.0.0.1:{}", port);
}

EchoServer::~EchoServer() {
  close(input_);
  waitpid(pid_, nullptr, 0);
}

}  // namespace winnow
