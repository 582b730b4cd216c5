#include "server/grpc/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <string.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_text.h"
#include "rpc/address.h"
#include "server/engine/metrics.h"
#include "server/grpc/roles.h"

namespace winnow {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kCodes = grpc::StatusCode::UNAUTHENTICATED + 1;

// The histograms of one method, each made at the first call with its code. Thread-safe.
class MethodTimes {
 public:
  MethodTimes(Metrics& metrics, const MethodRule& rule)
      : metrics_(metrics), service_(rule.service.substr(rule.service.rfind('.') + 1)), method_(rule.method) {}

  void Observe(grpc::StatusCode code, double seconds) {
    const auto given = static_cast<size_t>(code);
    const size_t number = given < kCodes ? given : static_cast<size_t>(grpc::StatusCode::UNKNOWN);
    prometheus::Histogram* times = times_[number].load(std::memory_order_acquire);
    if (times == nullptr) {
      const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(number));
      times = &metrics_.Calls(service_, method_, name);  // concurrent callers get the same histogram
      times_[number].store(times, std::memory_order_release);
    }
    times->Observe(seconds);
  }

 private:
  Metrics& metrics_;
  const std::string service_;
  const std::string method_;
  std::array<std::atomic<prometheus::Histogram*>, kCodes> times_ = {};
};

// Whether gRPC itself rejected a request that does not parse; our own errors always have a message.
bool IsUnread(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty();
}

class CallTime final : public grpc::experimental::Interceptor {
 public:
  explicit CallTime(MethodTimes& times) : times_(times) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      if (IsUnread(methods->GetSendStatus())) {
        methods->ModifySendStatus(
            {grpc::StatusCode::INVALID_ARGUMENT,
             "the request cannot be read; expected a protobuf message of this method's type"});
      }
      const std::chrono::duration<double> taken = SteadyClock::now() - begin_;
      times_.Observe(methods->GetSendStatus().error_code(), taken.count());
    }
    methods->Proceed();
  }

 private:
  MethodTimes& times_;
  const SteadyClock::time_point begin_ = SteadyClock::now();
};

class CallTimes final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallTimes(Metrics& metrics) {
    for (const MethodRule& rule : MethodRules()) {
      const std::string path = "/" + std::string(rule.service) + "/" + std::string(rule.method);
      methods_[path] = std::make_unique<MethodTimes>(metrics, rule);
    }
  }

  // Null for methods that are not ours: health, reflection.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    const auto found = methods_.find(info->method());
    return found == methods_.end() ? nullptr : new CallTime(*found->second);
  }

 private:
  std::unordered_map<std::string, std::unique_ptr<MethodTimes>> methods_;
};

// Makes `builder`'s server measure the duration of each call of our services, by method and code, and explain
// errors of requests that do not parse. `metrics` outlives the server.
void MeasureCalls(Metrics& metrics, grpc::ServerBuilder& builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<CallTimes>(metrics));
  builder.experimental().SetInterceptorCreators(std::move(creators));
}

constexpr int kMaxMessageBytes = 16 << 20;
// Limit of one connection: a worker has a few concurrent calls, a web page some dozens.
constexpr int kMaxStreams = 1000;
constexpr int kMaxMetadataBytes = 8 << 10;
// Allows only the first of gRPC's algorithms: none. The unpacked size of a compressed message is not bounded.
constexpr int kNoCompression = 1;
// What is unpacked at a time; see gate.h.
constexpr int kMostReadBytes = 128 << 10;
constexpr int kHandshakePatienceMs = 20'000;
// A vanished peer is detected after the sum of these.
constexpr int kPingEveryMs = 30'000;
constexpr int kPingPatienceMs = 10'000;
// Our clients ping every 10 s; one that pings more often than this is disconnected.
constexpr int kLeastPingIntervalMs = 1'000;
constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kMayDoMoreThanPass = 0066;  // permissions of others
constexpr mode_t kOwnSocket = 0600;

// Removes reflection, which the library adds to all servers of the process, from one of them.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    const std::string reflection = grpc::reflection::ProtoServerReflectionPlugin().name();
    std::erase_if(*plugins, [&](const auto& plugin) { return plugin->name() == reflection; });
  }
};

void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMostReadBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, kNoCompression);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakePatienceMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatienceMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingIntervalMs);
}

absl::Status Problem(const std::string& path, int error) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", path, strerror(error)));
}

absl::Status CannotListen(const std::string& address) {
  return absl::UnavailableError(
      fmt::format("cannot listen on {}: the port is in use or the address is not this machine's; name "
                  "another with --listen",
                  address));
}

// Closes the socket's folder to other users before the socket exists.
absl::Status CloseFolder(const std::string& socket) {
  const std::filesystem::path folder = std::filesystem::path(socket).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Problem(folder, error.value());
  // Trainers of local workers that run as other users need to pass through it at any time.
  struct stat about {};
  if (stat(folder.c_str(), &about) == 0 && (about.st_mode & kMayDoMoreThanPass) == 0) return absl::OkStatus();
  if (chmod(folder.c_str(), kOwnFolder) != 0) return Problem(folder, errno);
  return absl::OkStatus();
}

// Reports admitted callers to the gate, and refused calls to `refused`, unless it is null.
AuthOptions Watched(AuthOptions options, Gate& gate, RefusedCalls* refused) {
  options.on_admit = [&gate](std::string_view peer) { gate.Admit(peer); };
  if (refused != nullptr) {
    options.on_refuse = [refused](const Requester& by, std::string_view method, const absl::Status& why) {
      refused->Note(by, method, why);
    };
  }
  return options;
}

// REQUIRES: in a transaction.
absl::StatusOr<Permissions> ListPermissions(Store& store) {
  Permissions permissions;
  absl::StatusOr<std::vector<TokenRow>> tokens = store.tokens.List();
  if (!tokens.ok()) return tokens.status();
  permissions.tokens = *std::move(tokens);
  ProjectTable table(store.database());
  const absl::StatusOr<std::vector<ProjectRow>> projects = table.List();
  if (!projects.ok()) return projects.status();
  permissions.any_project = !projects->empty();
  absl::StatusOr<std::vector<MemberRow>> members = table.Members();
  if (!members.ok()) return members.status();
  permissions.members = *std::move(members);
  return permissions;
}

}  // namespace

absl::Status CheckListenAddress(std::string_view flag, const std::string& address, bool guarded) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, 0);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", flag, MessageOf(parsed.status())));
  }
  if (parsed->kind == Address::Kind::kUnix) {
    return absl::InvalidArgumentError(
        fmt::format("{}: \"{}\" is a socket's path; expected HOST:PORT", flag, address));
  }
  if (parsed->kind == Address::Kind::kLoopback || guarded) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: \"{}\" is not this machine's loopback; beyond it TLS and tokens are required: pass "
                  "the server's certificate with --tls-cert FILE and --tls-key FILE",
                  flag, address));
}

absl::Status CheckListen(const GrpcServerOptions& options) {
  const bool guarded = options.tls.used() && options.auth.tokens_required;
  if (absl::Status status = CheckListenAddress("--listen", options.address, true); !status.ok())
    return status;
  if (absl::Status status = CheckTlsFiles(options.tls); !status.ok()) return status;
  if (absl::Status status = CheckListenAddress("--listen", options.address, guarded); !status.ok())
    return status;
  if (options.socket.empty()) return absl::OkStatus();
  const absl::StatusOr<Address> socket = ParseAddress("unix:" + options.socket);
  return socket.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError("--state-dir: " + MessageOf(socket.status()));
}

GrpcServer::GrpcServer(const GrpcServerOptions& options, std::unique_ptr<Gate> gate, Coordinator* coordinator,
                       LeaderLink* link, Reader& reader, Hub& hub, std::unique_ptr<InsightThreads> insights,
                       SlowReaders slow)
    : coordinator_(coordinator),
      hub_(hub),
      gate_(std::move(gate)),
      refused_(coordinator == nullptr || !options.auth.shown_file.empty()
                   ? nullptr
                   : std::make_unique<RefusedCalls>(*coordinator, options.auth.clock)),
      authority_(Watched(options.auth, *gate_, refused_.get())),
      drain_{coordinator},
      insights_(std::move(insights)),
      tuning_(coordinator, reader, std::move(slow), hub, authority_, options.training, options.files,
              options.metrics == nullptr ? nullptr : &options.metrics->preparations),
      admin_(coordinator, hub, authority_, reader.file(), options.endpoint),
      insight_(*insights_, hub, authority_),
      usage_(reader, authority_),
      audit_(reader, authority_),
      logs_(reader, authority_) {
  if (coordinator != nullptr) leader_services_.emplace(options, *coordinator, reader, hub, authority_);
  if (link != nullptr) forwarding_.emplace(*link, authority_);
}

absl::Status GrpcServer::LoadPermissions() {
  coordinator_->OnReload([this](Store& store) -> absl::Status {
    const absl::StatusOr<Permissions> permissions = ReadPermissions(store);
    if (!permissions.ok()) return permissions.status();
    PutPermissions(*permissions);
    hub_.PublishAll();  // open streams look again
    return absl::OkStatus();
  });
  std::promise<absl::Status> promise;
  coordinator_->Call<absl::StatusOr<Permissions>>(
      [](Engine& engine) { return ListPermissions(engine.context().store); },
      [&](const absl::StatusOr<Permissions>& permissions) {
        if (permissions.ok()) PutPermissions(*permissions);
        promise.set_value(permissions.status());
      });
  return promise.get_future().get();
}

absl::StatusOr<Permissions> ReadPermissions(Store& store) {
  absl::StatusOr<Permissions> permissions;
  const absl::Status status = store.Read([&] {
    permissions = ListPermissions(store);
    return permissions.status();
  });
  if (!status.ok()) return status;
  return permissions;
}

void GrpcServer::PutPermissions(const Permissions& permissions) {
  for (const TokenRow& token : permissions.tokens) authority_.Put(token);
  authority_.PutProjects(permissions.any_project, permissions.members);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              Coordinator& coordinator, Reader& reader,
                                                              Hub& hub) {
  absl::StatusOr<std::unique_ptr<GrpcServer>> server = Make(options, &coordinator, nullptr, reader, hub);
  if (!server.ok()) return server.status();
  absl::Status status = (*server)->LoadPermissions();
  if (status.ok()) status = (*server)->Open(options, MakeHealthProbe(coordinator, reader));
  if (!status.ok()) return status;
  return server;
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::StartStandby(const GrpcServerOptions& options,
                                                                     const Permissions& permissions,
                                                                     LeaderLink& link, Reader& reader,
                                                                     Hub& hub) {
  absl::StatusOr<std::unique_ptr<GrpcServer>> server = Make(options, nullptr, &link, reader, hub);
  if (!server.ok()) return server.status();
  (*server)->PutPermissions(permissions);
  absl::Status status = (*server)->Open(options, MakeHealthProbe(reader));
  if (!status.ok()) return status;
  return server;
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Make(const GrpcServerOptions& options,
                                                             Coordinator* coordinator, LeaderLink* link,
                                                             Reader& reader, Hub& hub) {
  absl::Status status = CheckListen(options);
  if (!status.ok()) return status;
  auto insights = InsightThreads::Start(reader.file(), reader.clock());
  if (!insights.ok()) return insights.status();
  absl::StatusOr<SlowReaders> slow = SlowReaders::Start(reader.file(), reader.clock());
  if (!slow.ok()) return slow.status();
  absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::Listen(options.address, options.gate);
  if (!gate.ok()) return CannotListen(options.address);
  return std::unique_ptr<GrpcServer>(new GrpcServer(options, *std::move(gate), coordinator, link, reader, hub,
                                                    *std::move(insights), *std::move(slow)));
}

absl::Status GrpcServer::Open(const GrpcServerOptions& options, HealthProbe probe) {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
  grpc::ServerBuilder builder;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      options.tls.used() ? TlsServerCredentials(options.tls) : grpc::InsecureServerCredentials());
  int socket = 1;
  if (!options.socket.empty()) {
    if (absl::Status status = CloseFolder(options.socket); !status.ok()) return status;
    builder.AddListeningPort("unix:" + options.socket, grpc::InsecureServerCredentials(), &socket);
  }
  SetLimits(builder);
  if (options.metrics != nullptr) MeasureCalls(*options.metrics, builder);
  if (options.auth.tokens_required) builder.SetOption(std::make_unique<WithoutReflection>());
  builder.RegisterService(&tuning_);
  builder.RegisterService(&admin_);
  builder.RegisterService(&insight_);
  builder.RegisterService(&usage_);
  builder.RegisterService(&audit_);
  builder.RegisterService(&logs_);
  if (leader_services_.has_value()) {
    builder.RegisterService(&leader_services_->worker);
    builder.RegisterService(&leader_services_->artifact);
    builder.RegisterService(&leader_services_->pools);
    builder.RegisterService(&leader_services_->webhooks);
    builder.RegisterService(&leader_services_->projects);
  }
  if (forwarding_.has_value()) builder.RegisterCallbackGenericService(&*forwarding_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || socket == 0) return CannotListen(options.socket);
  if (!options.socket.empty() && chmod(options.socket.c_str(), kOwnSocket) != 0) {
    return Problem(options.socket, errno);
  }
  gate_->Open(std::move(acceptor));
  health_ = std::make_unique<HealthWatch>(
      std::move(probe), [this](bool healthy) { TellHealth(healthy); }, options.health);
  return absl::OkStatus();
}

GrpcServer::~GrpcServer() {
  if (server_ != nullptr) Stop(std::chrono::milliseconds(0));
  if (coordinator_ != nullptr) coordinator_->OnReload(nullptr);
}

std::shared_ptr<grpc::Channel> GrpcServer::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return server_->InProcessChannel(arguments);
}

void GrpcServer::PutToken(const TokenRow& token) {
  authority_.Put(token);
  if (token.revoke_us != 0) hub_.Publish(TokenTopic(token.id));
}

void GrpcServer::TellHealth(bool healthy) {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(healthy);
}

void GrpcServer::AnnounceStop() {
  health_ = nullptr;
  TellHealth(false);
}

void GrpcServer::Stop(std::chrono::milliseconds grace) {
  AnnounceStop();
  if (coordinator_ != nullptr) coordinator_->StopHolding();
  hub_.Publish(kStopTopic);
  tuning_.StopReplays();
  gate_->Close();
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_ = nullptr;
}

}  // namespace winnow
