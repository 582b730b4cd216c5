#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/grpc/admin_service.h"
#include "server/grpc/artifact_service.h"
#include "server/grpc/audit.h"
#include "server/grpc/audit_service.h"
#include "server/grpc/auth.h"
#include "server/grpc/forwarding.h"
#include "server/grpc/gate.h"
#include "server/grpc/health_watch.h"
#include "server/grpc/insight_service.h"
#include "server/grpc/log_service.h"
#include "server/grpc/pool_service.h"
#include "server/grpc/project_service.h"
#include "server/grpc/tls.h"
#include "server/grpc/tuning_service.h"
#include "server/grpc/webhook_service.h"
#include "server/grpc/worker_service.h"
#include "server/reads/readable_folders.h"
#include "store/tables/projects.h"

namespace winnow {

struct GrpcServerOptions {
  std::string address = "127.0.0.1:7070";  // HOST:PORT; port 0: chosen by the system
  TlsFiles tls = {};
  // An additional Unix socket, on which every caller is an admin; "": none. Its folder is closed to other
  // users.
  std::string socket = {};
  AuthOptions auth = {};
  Training training = Training::kHere;
  ReadableFolders files = ReadableFolders::Everything();  // that jobs may name
  ArtifactStore* artifacts = nullptr;                     // null: none
  Metrics* metrics = nullptr;                             // outlives the server; null: calls are not measured
  PoolCalls pools = {};
  WebhookCalls webhooks = {};
  HealthWatchOptions health = {};
  GateLimits gate = {};
  std::filesystem::path endpoint =
      {};  // folder of the endpoint for clients of SageMaker, which is in backups
};

// Checks that `address`, the value of `flag`, is HOST:PORT and may be listened on: beyond this machine's
// loopback only if `guarded`, by TLS and tokens. INVALID_ARGUMENT names the error.
absl::Status CheckListenAddress(std::string_view flag, const std::string& address, bool guarded);

// Checks what a server may listen on. INVALID_ARGUMENT names the error: in the address or a file, or that TLS
// and tokens are missing beyond this machine's loopback.
absl::Status CheckListen(const GrpcServerOptions& options);

// Who may do what, as recorded.
struct Permissions {
  std::vector<TokenRow> tokens;
  bool any_project = false;
  std::vector<MemberRow> members;
};
absl::StatusOr<Permissions> ReadPermissions(Store& store);

// The gRPC server with its services, health and, without tokens, reflection.
class GrpcServer {
 public:
  // UNAVAILABLE: the address cannot be bound; otherwise as CheckListen.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           Coordinator& coordinator, Reader& reader,
                                                           Hub& hub);
  // A standby's: it answers from the store what can be answered from there, and passes everything else on to
  // the leader. `link` outlives it. Errors as of Start.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> StartStandby(const GrpcServerOptions& options,
                                                                  const Permissions& permissions,
                                                                  LeaderLink& link, Reader& reader, Hub& hub);
  // Waits for what the coordinator has of its calls, also of those that were answered.
  ~GrpcServer();

  int port() const { return gate_->port(); }
  // A channel to this server within the process, and the key that identifies its HTTP side (see auth.h).
  std::shared_ptr<grpc::Channel> InProcessChannel();
  const std::string& relay_key() const { return authority_.relay_key(); }
  Authority& authority() { return authority_; }
  // The token, or its new state, holds from now on.
  void PutToken(const TokenRow& token);
  // These hold from now on.
  void PutPermissions(const Permissions& permissions);
  // Health reports NOT_SERVING from now on; calls are still accepted.
  void AnnounceStop();
  // Ends streams and held calls, waits for the others until `grace` is over, then cancels them.
  void Stop(std::chrono::milliseconds grace);

 private:
  // What a standby has not.
  struct LeaderServices {
    LeaderServices(const GrpcServerOptions& options, Coordinator& coordinator, Reader& reader, Hub& hub,
                   Authority& authority)
        : worker(coordinator, authority),
          artifact(coordinator, reader, authority, options.artifacts),
          pools(options.pools, authority),
          webhooks(options.webhooks, coordinator, reader, authority),
          projects(coordinator, hub, authority) {}
    WorkerService worker;
    ArtifactService artifact;
    PoolService pools;
    WebhookService webhooks;
    ProjectService projects;
  };

  // Awaits what the services gave the coordinator. It may run after its call was answered, and uses the
  // authority and the reader.
  struct Drain {
    Coordinator* coordinator;  // null: a standby's
    ~Drain() {
      if (coordinator != nullptr) coordinator->AwaitQueued();
    }
  };

  // Null: the coordinator of a standby, the link of a leader.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Make(const GrpcServerOptions& options,
                                                          Coordinator* coordinator, LeaderLink* link,
                                                          Reader& reader, Hub& hub);
  GrpcServer(const GrpcServerOptions& options, std::unique_ptr<Gate> gate, Coordinator* coordinator,
             LeaderLink* link, Reader& reader, Hub& hub, std::unique_ptr<InsightThreads> insights,
             SlowReaders slow);
  absl::Status Open(const GrpcServerOptions& options, HealthProbe probe);
  // Reads who may do what into the authority, now and whenever the coordinator reads its state anew.
  absl::Status LoadPermissions();
  void TellHealth(bool healthy);

  Coordinator* const coordinator_;
  Hub& hub_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<RefusedCalls> refused_;  // null: a standby's, or of a server that shows a file
  Authority authority_;
  const Drain drain_;  // destroyed after the services, before the authority
  std::unique_ptr<InsightThreads> insights_;
  TuningService tuning_;
  AdminService admin_;
  InsightService insight_;
  UsageService usage_;
  AuditService audit_;
  LogService logs_;
  std::optional<LeaderServices> leader_services_;
  std::optional<Forwarding> forwarding_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HealthWatch> health_;  // calls the server: destroyed first
};

}  // namespace winnow
