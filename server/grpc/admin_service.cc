#include "server/grpc/admin_service.h"

#include <utility>

#include "server/grpc/audit.h"
#include "server/grpc/errors.h"
#include "server/grpc/tokens.h"

namespace winnow {

using Unary = grpc::ServerUnaryReactor;

Unary* AdminService::CreateToken(Context* context, const v1::CreateTokenRequest* request,
                                 v1::CreateTokenResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  winnow::CreateToken(*coordinator_, *request, by, [this, reactor, response](absl::StatusOr<MadeToken> made) {
    if (made.ok()) {
      guard_.authority().Put(made->row);
      *response->mutable_token() = ToMessage(made->row);
      response->set_secret(std::move(made->secret));
    }
    reactor->Finish(ToGrpc(made.status()));
  });
  return reactor;
}

Unary* AdminService::ListTokens(Context* context, const v1::ListTokensRequest*,
                                v1::ListTokensResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, nullptr, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  winnow::ListTokens(*coordinator_, [reactor, response](absl::StatusOr<std::vector<TokenRow>> rows) {
    if (rows.ok()) {
      for (const TokenRow& row : *rows) *response->add_tokens() = ToMessage(row);
    }
    reactor->Finish(ToGrpc(rows.status()));
  });
  return reactor;
}

Unary* AdminService::RevokeToken(Context* context, const v1::RevokeTokenRequest* request, v1::Token* token) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  winnow::RevokeToken(*coordinator_, request->id(), by, [this, reactor, token](absl::StatusOr<TokenRow> row) {
    if (row.ok()) {
      guard_.authority().Put(*row);
      hub_.Publish(TokenTopic(row->id));
      *token = ToMessage(*row);
    }
    reactor->Finish(ToGrpc(row.status()));
  });
  return reactor;
}

Unary* AdminService::SetWorkerScheduling(Context* context, const v1::SetWorkerSchedulingRequest* request,
                                         v1::Worker* worker) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  AuditNote note{"SetWorkerScheduling"};
  note.subject = request->name();
  note.detail = v1::Worker::Scheduling_Name(request->scheduling());
  if (!request->reason().empty()) note.detail += ": " + request->reason();
  CallAudited<absl::StatusOr<v1::Worker>>(
      *coordinator_, by, std::move(note),
      [request](Engine& engine, AuditNote&) { return engine.SetWorkerScheduling(*request); },
      [reactor, worker](absl::StatusOr<v1::Worker> answer) {
        if (answer.ok()) *worker = *std::move(answer);
        reactor->Finish(ToGrpc(answer.status()));
      });
  return reactor;
}

Unary* AdminService::GetCaller(Context* context, const v1::GetCallerRequest*, v1::Caller* caller) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, nullptr, __func__, &by)) return refused;
  const Authority::Caller known = guard_.authority().CallerOf(by.token_id);
  caller->set_role(known.role);
  caller->set_token_id(by.token_id);
  caller->set_name(known.name);
  caller->set_tokens_required(guard_.authority().tokens_required());
  caller->set_server_version(WINNOW_VERSION);
  caller->set_read_only(guard_.authority().read_only());
  if (by.memberships != nullptr && !by.any) {
    for (const auto& [project, leads] : *by.memberships) {
      caller->add_projects(project);
      if (leads) caller->add_led_projects(project);
    }
  }
  Unary* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::BackupPart>* AdminService::Backup(Context* context, const v1::BackupRequest*) {
  using Parts = grpc::ServerWriteReactor<v1::BackupPart>;
  Requester by;
  if (Parts* refused = guard_.Refuse<Parts>(context, nullptr, __func__, &by)) return refused;
  RecordAudited(*coordinator_, by, {"Backup"}, absl::OkStatus(), nullptr);
  return backups_.Serve();
}

}  // namespace winnow
