#include "server/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <charconv>
#include <mutex>

namespace winnow {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;

}  // namespace

absl::Status CheckListenAddress(const std::string& address) {
  size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  int number = -1;
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  bool whole = error == std::errc() && end == port.data() + port.size();
  if (host.empty() || !whole || number < 0 || number > 65535) {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" is not an address; expected HOST:PORT with a port from 0 to 65535, as 127.0.0.1:7070",
        address));
  }
  if (host == "localhost" || host.starts_with("127.") || host == "[::1]") return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "\"{}\" is not this machine's loopback; beyond it TLS and tokens are required, and they are not "
      "available in this version; expected 127.0.0.1:PORT, localhost:PORT or [::1]:PORT",
      address));
}

GrpcServer::GrpcServer(Coordinator& coordinator, Reader& reader, Hub& hub)
    : coordinator_(coordinator), hub_(hub), tuning_(coordinator, reader, hub), worker_(coordinator) {}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& address,
                                                              Coordinator& coordinator, Reader& reader,
                                                              Hub& hub) {
  absl::Status status = CheckListenAddress(address);
  if (!status.ok()) return status;
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
  std::unique_ptr<GrpcServer> server(new GrpcServer(coordinator, reader, hub));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &server->port_);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server is refused, not mixed in
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.RegisterService(&server->tuning_);
  builder.RegisterService(&server->worker_);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    return absl::UnavailableError(
        fmt::format("cannot listen on {}: the port is taken or the address is not this machine's; name "
                    "another by --listen",
                    address));
  }
  return server;
}

GrpcServer::~GrpcServer() {
  if (server_ != nullptr) Stop(std::chrono::milliseconds(0));
}

void GrpcServer::AnnounceStop() {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
}

void GrpcServer::Stop(std::chrono::milliseconds grace) {
  AnnounceStop();
  coordinator_.StopHolding();
  hub_.Publish(kStopTopic);
  tuning_.StopReplays();
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_ = nullptr;
}

}  // namespace winnow
