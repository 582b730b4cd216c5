#include "server/grpc/tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/time_util.h>

#include <memory>
#include <utility>

#include "server/grpc/audit.h"
#include "server/grpc/auth.h"
#include "server/grpc/projects.h"
#include "server/grpc/roles.h"

namespace winnow {
namespace {

constexpr size_t kLongestName = 128;
constexpr std::string_view kAllocation = "allocation ";  // the beginning of the names of bound tokens
constexpr int64_t kLongestSeconds = 100LL * 365 * 86'400;

absl::Status Check(const v1::CreateTokenRequest& request) {
  if (RoleName(request.role()).empty()) {
    return absl::InvalidArgumentError(
        fmt::format("role: {} is not a role; expected VIEWER, SUBMITTER, WORKER or ADMIN",
                    static_cast<int>(request.role())));
  }
  if (request.name().size() > kLongestName) {
    return absl::InvalidArgumentError(
        fmt::format("name: it has {} characters; expected at most {}", request.name().size(), kLongestName));
  }
  if (absl::Status prints = CheckPrints("name", request.name()); !prints.ok()) return prints;
  if (absl::Status prints = CheckPrints("worker_names", request.worker_names()); !prints.ok()) return prints;
  if (request.name().starts_with(kAllocation)) {
    return absl::InvalidArgumentError(
        fmt::format("name: \"{}\" begins like the names of the tokens of allocations; expected another name",
                    request.name()));
  }
  if (request.role() != v1::WORKER &&
      (request.worker_projects_size() > 0 || !request.worker_names().empty())) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a token of role {} is for no worker; expected none",
        request.worker_projects_size() > 0 ? "worker_projects" : "worker_names", RoleName(request.role())));
  }
  if (request.worker_names().size() > kLongestName) {
    return absl::InvalidArgumentError(fmt::format("worker_names: it has {} characters; expected at most {}",
                                                  request.worker_names().size(), kLongestName));
  }
  if (request.valid_seconds() < 0 || request.valid_seconds() > kLongestSeconds) {
    return absl::InvalidArgumentError(fmt::format(
        "valid_seconds: {} is out of range; expected 1 to {}, or 0 for a token that does not expire",
        request.valid_seconds(), kLongestSeconds));
  }
  return absl::OkStatus();
}

std::string ExpiryText(int64_t seconds) {
  constexpr int64_t kDay = 86400;
  if (seconds == 0) return "does not expire";
  return seconds % kDay == 0
             ? fmt::format("expires after {} day{}", seconds / kDay, seconds == kDay ? "" : "s")
             : fmt::format("expires after {} s", seconds);
}

}  // namespace

void CreateToken(Coordinator& coordinator, const v1::CreateTokenRequest& request, const Requester& by,
                 Coordinator::Done<MadeToken> done) {
  AuditNote note{"CreateToken"};
  note.detail = fmt::format("role {}, name \"{}\", {}", RoleName(request.role()), request.name(),
                            ExpiryText(request.valid_seconds()));
  if (request.worker_projects_size() > 0)
    note.detail += fmt::format(", of projects {}", fmt::join(request.worker_projects(), ", "));
  if (!request.worker_names().empty())
    note.detail += fmt::format(", for workers \"{}\"", request.worker_names());
  if (const absl::Status status = Check(request); !status.ok()) {
    return RecordAudited(coordinator, by, std::move(note), status,
                         [status, done = std::move(done)] { done(status); });
  }
  absl::StatusOr<TokenSecret> secret = MakeTokenSecret();
  if (!secret.ok()) return done(secret.status());
  MadeToken made;
  made.row.id = secret->id;
  made.row.name = request.name();
  made.row.role = RoleName(request.role());
  made.row.hash = HashSecret(secret->secret);
  for (const std::string& name : request.worker_projects())
    made.row.worker_projects.push_back(ProjectNamed(name));
  made.row.worker_names = request.worker_names();
  made.secret = std::move(secret->secret);
  const int64_t valid_us = request.valid_seconds() * 1'000'000;
  note.subject = made.row.id;
  CallAudited<absl::StatusOr<MadeToken>>(
      coordinator, by, std::move(note),
      [made, valid_us](Engine& engine, AuditNote&) mutable -> absl::StatusOr<MadeToken> {
        Context& context = engine.context();
        for (const std::string& project : made.row.worker_projects) {
          if (absl::Status there = CheckProject(engine, project); !there.ok()) return there;
        }
        made.row.create_us = context.wall_us();
        if (valid_us > 0) made.row.expire_us = made.row.create_us + valid_us;
        absl::Status status = context.store.tokens.Insert(made.row);
        if (status.ok()) return made;
        if (!absl::IsAlreadyExists(status)) context.Note(status);
        return status;
      },
      std::move(done));
}

void ListTokens(Coordinator& coordinator, Coordinator::Done<std::vector<TokenRow>> done) {
  coordinator.Call<absl::StatusOr<std::vector<TokenRow>>>(
      [](Engine& engine) { return engine.context().store.tokens.List(); }, std::move(done));
}

void RevokeToken(Coordinator& coordinator, const std::string& id, const Requester& by,
                 Coordinator::Done<TokenRow> done) {
  AuditNote note{"RevokeToken"};
  note.subject = id;
  CallAudited<absl::StatusOr<TokenRow>>(
      coordinator, by, std::move(note),
      [id](Engine& engine, AuditNote&) {
        Context& context = engine.context();
        absl::StatusOr<TokenRow> row = context.store.tokens.Revoke(id, context.wall_us());
        if (!row.ok() && !absl::IsNotFound(row.status())) context.Note(row.status());
        return row;
      },
      std::move(done));
}

absl::StatusOr<MadeToken> MakeAllocationToken(const std::string& allocation) {
  absl::StatusOr<TokenSecret> secret = MakeTokenSecret();
  if (!secret.ok()) return secret.status();
  MadeToken made;
  made.row.id = secret->id;
  made.row.name = std::string(kAllocation) + allocation;
  made.row.role = RoleName(v1::WORKER);
  made.row.hash = HashSecret(secret->secret);
  made.secret = std::move(secret->secret);
  return made;
}

std::string AllocationOfToken(const std::string& token_name) {
  return token_name.starts_with(kAllocation) ? token_name.substr(kAllocation.size()) : "";
}

v1::Token ToMessage(const TokenRow& row) {
  using google::protobuf::util::TimeUtil;
  v1::Token token;
  token.set_id(row.id);
  token.set_name(row.name);
  token.set_role(RoleOf(row.role));
  *token.mutable_create_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
  if (row.expire_us != 0) *token.mutable_expire_time() = TimeUtil::MicrosecondsToTimestamp(row.expire_us);
  for (const std::string& project : row.worker_projects)
    token.add_worker_projects(project.empty() ? kDefaultProject : project);
  token.set_worker_names(row.worker_names);
  if (row.revoke_us != 0) *token.mutable_revoke_time() = TimeUtil::MicrosecondsToTimestamp(row.revoke_us);
  return token;
}

}  // namespace winnow
