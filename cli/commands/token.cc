#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "absl/time/clock.h"
#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

// Returns VIEWER in the user's spelling: viewer.
std::string RoleText(v1::Role role) {
  std::string text = v1::Role_Name(role);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

v1::Role RoleOf(const std::string& text) {
  for (int role = v1::Role_MIN + 1; role <= v1::Role_MAX; ++role) {
    if (RoleText(static_cast<v1::Role>(role)) == text) return static_cast<v1::Role>(role);
  }
  return v1::ROLE_UNSPECIFIED;
}

Table::Cell StateOf(const v1::Token& token) {
  if (token.has_revoke_time()) return {"revoked " + TimeText(token.revoke_time()), Style::kDim};
  const bool expired =
      token.has_expire_time() && token.expire_time().seconds() <= absl::ToUnixSeconds(absl::Now());
  return expired ? Table::Cell{"expired", Style::kDim} : Table::Cell{"valid", Style::kGood};
}

// What a worker's token is bound to.
std::string BoundTo(const v1::Token& token) {
  std::string text;
  for (const std::string& project : token.worker_projects()) text += (text.empty() ? "" : ",") + project;
  if (!token.worker_names().empty()) text += (text.empty() ? "as " : " as ") + token.worker_names();
  return text;
}

std::string ExpiryText(const v1::Token& token) {
  return token.has_expire_time() ? TimeText(token.expire_time()) : "never";
}

}  // namespace

Exit CreateToken(Session& session, const CreateTokenOptions& options) {
  v1::CreateTokenRequest request;
  request.set_role(RoleOf(options.role));
  request.set_name(options.name);
  request.set_valid_seconds(options.days * kSecondsPerDay);
  request.mutable_worker_projects()->Assign(options.worker_projects.begin(), options.worker_projects.end());
  request.set_worker_names(options.worker_names);
  const auto made = session.client().CreateToken(request);
  if (!made.ok()) return made.status();
  if (PrintsJson(session, *made)) return kSuccess;
  session.out.Print(Clean(made->secret()) + "\n");
  session.err.Print(fmt::format(
      "Token {}, role {}, expires: {}. It is shown only now. Keep it in a file that only its user can read, "
      "and pass that file with --token-file or WINNOW_TOKEN_FILE.\n",
      Clean(made->token().id()), RoleText(made->token().role()), ExpiryText(made->token())));
  return kSuccess;
}

Exit ListTokens(Session& session) {
  const auto list = session.client().Tokens();
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list)) return kSuccess;
  if (list->tokens().empty()) {
    session.out.Print("There are no tokens. Create one with: " + session.Hint("token create --role ROLE") +
                      "\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table({{"TOKEN"},
               {"NAME"},
               {"ROLE"},
               {"PROJECTS", Align::kLeft, 3},
               {"CREATED", Align::kLeft, 2},
               {"EXPIRES", Align::kLeft, 1},
               {"STATE"}});
  for (const v1::Token& token : list->tokens()) {
    table.Add({{token.id(), Style::kBold},
               {token.name()},
               {RoleText(token.role())},
               {BoundTo(token)},
               {TimeText(token.create_time())},
               {ExpiryText(token)},
               StateOf(token)});
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("token list --output json")));
  return kSuccess;
}

Exit RevokeToken(Session& session, const std::string& id) {
  const auto token = session.client().RevokeToken(id);
  if (!token.ok()) return token.status();
  session.out.Print(
      session.output == Output::kJson
          ? ToJson(*token)
          : fmt::format("Token {} is revoked: it is refused from now on.\n", Clean(token->id())));
  return kSuccess;
}

Exit WhoAmI(Session& session) {
  const absl::StatusOr<v1::Caller> caller = session.client().Caller();
  if (!caller.ok()) return caller.status();
  if (PrintsJson(session, *caller)) return kSuccess;
  std::string text = caller->name().empty() ? "No name" : Clean(caller->name());
  text += fmt::format(", {}", RoleText(caller->role()));
  if (!caller->token_id().empty()) text += fmt::format(" (token {})", Clean(caller->token_id()));
  for (const std::string& project : caller->projects()) {
    const auto& led = caller->led_projects();
    const bool leads = std::find(led.begin(), led.end(), project) != led.end();
    text += fmt::format(", {} of project {}", leads ? "a leader" : "a member", Clean(project));
  }
  text += fmt::format("\nThe server is winnow-server {} and requires {}.\n", Clean(caller->server_version()),
                      caller->tokens_required() ? "tokens" : "no tokens");
  if (caller->read_only()) text += "It is read-only: it shows an archive and changes nothing.\n";
  session.out.Print(text);
  return kSuccess;
}

}  // namespace winnow::cli
