#include "server/oidc/sign_ins.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/status_text.h"
#include "server/grpc/audit.h"
#include "server/grpc/projects.h"
#include "store/tables/sign_ins.h"

namespace winnow {
namespace {

// How long tokens of sign-ins are listed after their end.
constexpr int64_t kListedUs = 30 * 86'400'000'000;

struct Entered {
  MadeToken token;
  std::optional<ChangedProject> projects;
  std::vector<TokenRow> ended;  // the sessions of others who had the name before
};

// Ends the sessions under a name, which others have had.
absl::Status EndSessions(Context& context, SignInTable& table, const std::string& name, int64_t now_us,
                         std::vector<TokenRow>& ended) {
  const absl::StatusOr<std::vector<std::string>> ids = table.ValidTokens(name, now_us);
  if (!ids.ok()) return ids.status();
  for (const std::string& id : *ids) {
    absl::StatusOr<TokenRow> row = context.store.tokens.Revoke(id, now_us);
    if (!row.ok()) return row.status();
    ended.push_back(*std::move(row));
  }
  return absl::OkStatus();
}

// The person's row, which is added or renamed if need be. A name that is new to them is theirs alone from
// then on.
absl::StatusOr<PersonRow> PutPerson(Context& context, SignInTable& table, const OidcPerson& person,
                                    int64_t now_us, std::vector<TokenRow>& ended) {
  const absl::StatusOr<std::optional<PersonRow>> found = table.Find(person.issuer, person.subject);
  if (!found.ok()) return found.status();
  if (found->has_value() && (!person.granted || (*found)->name == person.name)) return **found;
  PersonRow row{person.issuer, person.subject, person.name, now_us};
  absl::Status status;
  if (person.granted) {
    status = table.RemoveAnother(row);
  } else {
    const absl::StatusOr<bool> another = table.AnotherHas(row);
    if (!another.ok()) return another.status();
    const absl::StatusOr<bool> token = table.TokenHas(row.name);
    if (!token.ok()) return token.status();
    if (*another || *token) {
      return absl::AlreadyExistsError(
          fmt::format("the name \"{}\" belongs to {}", row.name,
                      *another ? "another person who signed in" : "a token that an admin created"));
    }
  }
  const bool had = found->has_value() && absl::EqualsIgnoreCase((*found)->name, row.name);
  if (status.ok() && !had) status = EndSessions(context, table, row.name, now_us, ended);
  if (status.ok()) status = found->has_value() ? table.Rename(row) : table.Insert(row);
  if (!status.ok()) return status;
  return row;
}

// Makes the person a member of the projects whose groups they are in, and of no other of these.
absl::StatusOr<std::optional<ChangedProject>> SetProjects(Engine& engine, const OidcPerson& person,
                                                          const std::string& name) {
  std::optional<ChangedProject> last;
  if (person.projects.empty()) return last;
  const absl::StatusOr<std::vector<MemberRow>> members =
      ProjectTable(engine.context().store.database()).Members();
  if (!members.ok()) return members.status();
  for (const auto& [project, wanted] : person.projects) {
    if (!CheckProject(engine, project).ok()) {
      spdlog::warn("--oidc-project: there is no project \"{}\"", project);
      continue;
    }
    const bool is = std::any_of(members->begin(), members->end(), [&](const MemberRow& row) {
      return row.project == project && row.person == name;
    });
    if (is == wanted) continue;
    v1::AddMemberRequest add;
    add.set_project(project);
    add.set_person(name);
    v1::RemoveMemberRequest remove;
    remove.set_project(project);
    remove.set_person(name);
    absl::StatusOr<ChangedProject> changed =
        wanted ? AddMember(engine, add, Requester()) : RemoveMember(engine, remove, Requester());
    if (!changed.ok()) return changed.status();
    last = *std::move(changed);
  }
  return last;
}

absl::StatusOr<Entered> EnterNow(Engine& engine, const OidcPerson& person, MadeToken made, int64_t valid_us) {
  if (!person.refused.empty()) return absl::PermissionDeniedError(person.refused);
  Context& context = engine.context();
  SignInTable table(context.store.database());
  const int64_t now_us = context.wall_us();
  std::vector<TokenRow> ended;
  const absl::StatusOr<PersonRow> row = PutPerson(context, table, person, now_us, ended);
  if (!row.ok()) return row.status();
  made.row.name = row->name;
  made.row.role = person.role;
  made.row.create_us = now_us;
  made.row.expire_us = now_us + valid_us;
  absl::Status status = table.RemoveTokensBefore(now_us - kListedUs);
  if (status.ok()) status = context.store.tokens.Insert(made.row);
  if (status.ok()) status = table.PutToken(made.row.id);
  if (!status.ok()) return status;
  absl::StatusOr<std::optional<ChangedProject>> projects = SetProjects(engine, person, row->name);
  if (!projects.ok()) return projects.status();
  return Entered{std::move(made), *std::move(projects), std::move(ended)};
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsAlreadyExists(status);
}

Requester CallerOf(const SignInCall& call, const std::string& name, const std::string& token) {
  Requester by;
  by.any = false;
  by.name = name;
  by.token_id = token;
  by.address = call.address;
  return by;
}

constexpr double kRecordsPerSecond = 1.0 / 60;
constexpr char kSignIn[] = "SignIn";
constexpr char kSignOut[] = "SignOut";

}  // namespace

SignIns::SignIns(Coordinator& coordinator, Authority& authority, Hub& hub, Clock clock)
    : coordinator_(coordinator),
      authority_(authority),
      hub_(hub),
      clock_(std::move(clock)),
      recorded_(kRecordsPerSecond) {}

bool SignIns::Records(const std::string& who) {
  MutexLock lock(mutex_);
  return recorded_.Take(who, clock_.steady_us());
}

void SignIns::Enter(const OidcPerson& person, const SignInCall& call, int64_t valid_us,
                    Coordinator::Done<MadeToken> done) {
  absl::StatusOr<TokenSecret> secret = MakeTokenSecret();
  if (!secret.ok()) return done(secret.status());
  MadeToken made;
  made.row.id = secret->id;
  made.row.hash = HashSecret(secret->secret);
  made.secret = std::move(secret->secret);
  coordinator_.Call<absl::StatusOr<Entered>>(
      [this, person, call, made, valid_us](Engine& engine) {
        absl::StatusOr<Entered> entered = EnterNow(engine, person, made, valid_us);
        if (!entered.ok() && !IsRefusal(entered.status())) engine.context().Note(entered.status());
        const bool in = entered.ok();
        if (!in && !Records("person " + person.subject)) return entered;
        AuditNote note{kSignIn};
        note.subject = fmt::format("{} {}", person.subject, person.issuer);
        note.detail = in ? fmt::format("{}, role {}", call.way, person.role) : call.way;
        if (in && !entered->ended.empty())
          note.detail += fmt::format(", sessions of another of this name: {} ended", entered->ended.size());
        AddAuditEntry(engine.context(),
                      CallerOf(call, in ? entered->token.row.name : person.name, in ? made.row.id : ""), note,
                      entered.status());
        return entered;
      },
      [this, person, call, done = std::move(done)](absl::StatusOr<Entered> entered) {
        if (!entered.ok()) {
          Requester who = CallerOf(call, person.name, "");
          spdlog::warn("{} could not sign in from {}: {}", who.ForLog(), call.address,
                       MessageOf(entered.status()));
          return done(entered.status());
        }
        for (const TokenRow& row : entered->ended) {
          authority_.Put(row);
          hub_.Publish(TokenTopic(row.id));
        }
        authority_.Put(entered->token.row);
        if (entered->projects)
          authority_.PutProjects(entered->projects->any_project, entered->projects->members);
        const TokenRow& row = entered->token.row;
        spdlog::info("{} signed in from {} ({}) as {}", CallerOf(call, row.name, row.id).ForLog(),
                     call.address, call.way, row.role);
        done(std::move(entered->token));
      });
}

void SignIns::Failed(const SignInCall& call, const absl::Status& why) {
  spdlog::warn("a sign-in from {} ({}) failed: {}", call.address, call.way, MessageOf(why));
  if (!Records("host " + call.address)) return;
  AuditNote note{kSignIn};
  note.detail = call.way;
  RecordAudited(coordinator_, CallerOf(call, "", ""), std::move(note), why, nullptr);
}

void SignIns::Leave(const CallOrigin& origin, std::function<void(const absl::Status&)> done) {
  // A caller without a valid token has nothing to leave.
  const absl::StatusOr<std::string> token = authority_.Admit("winnow.v1.AdminService", "GetCaller", origin);
  if (absl::IsUnauthenticated(token.status()) || (token.ok() && token->empty()))
    return done(absl::OkStatus());
  if (!token.ok()) return done(token.status());
  Requester by = authority_.RequesterOf(*token);
  by.address = AddressOfPeer(origin.peer);
  coordinator_.Call<absl::StatusOr<std::optional<TokenRow>>>(
      [by](Engine& engine) -> absl::StatusOr<std::optional<TokenRow>> {
        Context& context = engine.context();
        const absl::StatusOr<bool> ours = SignInTable(context.store.database()).HasToken(by.token_id);
        if (!ours.ok()) return ours.status();
        if (!*ours) return std::nullopt;
        absl::StatusOr<TokenRow> row = context.store.tokens.Revoke(by.token_id, context.wall_us());
        if (!row.ok()) context.Note(row.status());
        AuditNote note{kSignOut};
        note.subject = by.token_id;
        AddAuditEntry(context, by, note, row.status());
        if (!row.ok()) return row.status();
        return *std::move(row);
      },
      [this, done = std::move(done)](const absl::StatusOr<std::optional<TokenRow>>& row) {
        if (row.ok() && row->has_value()) {
          authority_.Put(**row);
          hub_.Publish(TokenTopic((*row)->id));
        }
        done(row.status());
      });
}

}  // namespace winnow
