#include "server/grpc/project_service.h"

#include <utility>

#include "server/grpc/audit.h"
#include "server/grpc/errors.h"
#include "server/grpc/projects.h"

namespace winnow {

using Unary = grpc::ServerUnaryReactor;

Unary* ProjectService::ListProjects(Context* context, const v1::ListProjectsRequest*,
                                    v1::ListProjectsResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, nullptr, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  coordinator_.Call<absl::StatusOr<v1::ListProjectsResponse>>(
      [by](Engine& engine) { return winnow::ListProjects(engine, by); },
      [reactor, response](absl::StatusOr<v1::ListProjectsResponse> list) {
        if (list.ok()) *response = *std::move(list);
        reactor->Finish(ToGrpc(list.status()));
      });
  return reactor;
}

Unary* ProjectService::CreateProject(Context* context, const v1::CreateProjectRequest* request,
                                     v1::Project* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Change(context, by, {"CreateProject", "", 0, request->name()}, response,
                [request](Engine& engine) { return winnow::CreateProject(engine, *request); });
}

Unary* ProjectService::GetProject(Context* context, const v1::GetProjectRequest* request,
                                  v1::Project* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  coordinator_.Call<absl::StatusOr<v1::Project>>(
      [request](Engine& engine) { return winnow::GetProject(engine, ProjectNamed(request->project())); },
      [reactor, response](absl::StatusOr<v1::Project> project) {
        if (project.ok()) *response = *std::move(project);
        reactor->Finish(ToGrpc(project.status()));
      });
  return reactor;
}

Unary* ProjectService::SetProject(Context* context, const v1::SetProjectRequest* request,
                                  v1::Project* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Change(context, by, {"SetProject", "", 0, request->project(), ChangesText(*request)}, response,
                [request, by](Engine& engine) { return winnow::SetProject(engine, *request, by); });
}

Unary* ProjectService::DeleteProject(Context* context, const v1::DeleteProjectRequest* request,
                                     v1::DeleteProjectResponse*) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Change(context, by, {"DeleteProject", "", 0, request->project()}, nullptr,
                [request](Engine& engine) { return winnow::DeleteProject(engine, request->project()); });
}

Unary* ProjectService::AddMember(Context* context, const v1::AddMemberRequest* request,
                                 v1::Project* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Change(context, by,
                {"AddMember", "", 0, request->project(),
                 request->person() + (request->leads() ? " leads" : " is a member")},
                response, [request, by](Engine& engine) { return winnow::AddMember(engine, *request, by); });
}

Unary* ProjectService::RemoveMember(Context* context, const v1::RemoveMemberRequest* request,
                                    v1::Project* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Change(
      context, by, {"RemoveMember", "", 0, request->project(), request->person()}, response,
      [request, by](Engine& engine) { return winnow::RemoveMember(engine, *request, by); },
      // Their open watches look again.
      [this, person = request->person()] {
        for (const std::string& token : guard_.authority().TokensOf(person)) hub_.Publish(TokenTopic(token));
      });
}

Unary* ProjectService::Change(Context* context, const Requester& by, AuditNote note, v1::Project* response,
                              std::function<absl::StatusOr<ChangedProject>(Engine&)> change,
                              std::function<void()> changed) {
  Unary* reactor = context->DefaultReactor();
  CallAudited<absl::StatusOr<ChangedProject>>(
      coordinator_, by, std::move(note),
      [change = std::move(change)](Engine& engine, AuditNote&) { return change(engine); },
      [this, reactor, response, changed = std::move(changed)](absl::StatusOr<ChangedProject> after) {
        if (after.ok()) {
          guard_.authority().PutProjects(after->any_project, after->members);
          if (changed) changed();
          if (response != nullptr) *response = std::move(after->project);
        }
        reactor->Finish(ToGrpc(after.status()));
      });
  return reactor;
}

}  // namespace winnow
