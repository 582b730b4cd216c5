#pragma once

#include <functional>

#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/grpc/audit.h"
#include "server/grpc/guard.h"
#include "server/grpc/projects.h"
#include "winnow/v1/projects.grpc.pb.h"

namespace winnow {

// The gRPC side of projects. REQUIRES: coordinator, hub and authority outlive the gRPC server.
class ProjectService final : public v1::ProjectService::CallbackService {
 public:
  ProjectService(Coordinator& coordinator, Hub& hub, Authority& authority)
      : coordinator_(coordinator), hub_(hub), guard_(authority, v1::ProjectService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ListProjects(Context*, const v1::ListProjectsRequest*, v1::ListProjectsResponse*) override;
  Unary* CreateProject(Context*, const v1::CreateProjectRequest*, v1::Project*) override;
  Unary* GetProject(Context*, const v1::GetProjectRequest*, v1::Project*) override;
  Unary* SetProject(Context*, const v1::SetProjectRequest*, v1::Project*) override;
  Unary* DeleteProject(Context*, const v1::DeleteProjectRequest*, v1::DeleteProjectResponse*) override;
  Unary* AddMember(Context*, const v1::AddMemberRequest*, v1::Project*) override;
  Unary* RemoveMember(Context*, const v1::RemoveMemberRequest*, v1::Project*) override;

 private:
  // Runs a change with an entry in the audit log; it holds before the call is answered. `response` may be
  // null.
  Unary* Change(Context* context, const Requester& by, AuditNote note, v1::Project* response,
                std::function<absl::StatusOr<ChangedProject>(Engine&)> change,
                std::function<void()> changed = nullptr);

  Coordinator& coordinator_;
  Hub& hub_;
  Guard guard_;
};

}  // namespace winnow
