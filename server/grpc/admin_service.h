#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/grpc/backup.h"
#include "server/grpc/forwarding.h"
#include "server/grpc/guard.h"
#include "winnow/v1/admin.grpc.pb.h"

namespace winnow {

// The gRPC side of AdminService. `endpoint`: as for Backups. A null coordinator: a standby's, which forwards
// what needs one. REQUIRES: coordinator, hub and authority outlive the gRPC server.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(Coordinator* coordinator, Hub& hub, Authority& authority, const std::string& database,
               std::filesystem::path endpoint)
      : coordinator_(coordinator),
        hub_(hub),
        guard_(authority, v1::AdminService::service_full_name()),
        backups_(database, std::move(endpoint)) {
    if (coordinator != nullptr) return;
    for (const int method : ForwardedMethods(v1::AdminService::service_full_name()))
      MarkMethodGeneric(method);
  }

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* CreateToken(Context*, const v1::CreateTokenRequest*, v1::CreateTokenResponse*) override;
  Unary* ListTokens(Context*, const v1::ListTokensRequest*, v1::ListTokensResponse*) override;
  Unary* RevokeToken(Context*, const v1::RevokeTokenRequest*, v1::Token*) override;
  Unary* SetWorkerScheduling(Context*, const v1::SetWorkerSchedulingRequest*, v1::Worker*) override;
  Unary* GetCaller(Context*, const v1::GetCallerRequest*, v1::Caller*) override;
  grpc::ServerWriteReactor<v1::BackupPart>* Backup(Context*, const v1::BackupRequest*) override;

 private:
  Coordinator* const coordinator_;
  Hub& hub_;
  Guard guard_;
  Backups backups_;
};

}  // namespace winnow
