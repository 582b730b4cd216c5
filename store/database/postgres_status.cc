#include "store/database/postgres_status.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <memory>

namespace winnow {
namespace {

// The SQLSTATE of winnow_lead.
constexpr std::string_view kAnotherLeads = "WN001";

// Advice for the user; "" if there is none.
std::string_view AdviceFor(std::string_view sqlstate) {
  if (sqlstate.starts_with("53100"))
    return "; the disk of the database is full: free some space, nothing that was acknowledged is lost";
  if (sqlstate == "42501")
    return "; give the role the right: GRANT CONNECT, CREATE, TEMPORARY ON DATABASE … and GRANT USAGE, "
           "CREATE "
           "ON SCHEMA …, or make it the owner of the database";
  if (sqlstate == "25006")
    return "; this PostgreSQL server is a standby or read-only: name the primary (target_session_attrs=read-"
           "write in the address finds it among several hosts)";
  if (sqlstate.starts_with("XX"))
    return "; the database may be damaged: look at PostgreSQL's log, and restore it from a backup";
  return "";
}

// What to do about a connection that was refused, by what the server said.
std::string_view AdviceForConnection(std::string_view message, bool needs_password) {
  const auto says = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (needs_password || says("no password supplied"))
    return "; a password is needed: put it into the file ~/.pgpass or PGPASSFILE, PGPASSWORD, or a service "
           "file, not into the address";
  if (says("password authentication failed"))
    return "; check the role's name and the password in ~/.pgpass, PGPASSFILE, PGPASSWORD or the service "
           "file";
  if (says("does not exist") && says("database"))
    return "; create it: createdb --encoding=UTF8 --template=template0 NAME";
  if (says("does not exist")) return "; create the role: createuser NAME";
  if (says("no pg_hba.conf entry"))
    return "; PostgreSQL's pg_hba.conf must allow this host, role and database";
  if (says("too many clients") || says("connection slots"))
    return "; raise max_connections of PostgreSQL: a server of Winnow takes up to 20";
  return "";
}

// Whether time does not change what was refused.
bool IsFinal(std::string_view message) {
  for (const std::string_view part :
       {"password", "does not exist", "pg_hba.conf", "not permitted", "permission"}) {
    if (message.find(part) != std::string_view::npos) return true;
  }
  return false;
}

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

std::string OptionOf(const PQconninfoOption* options, std::string_view keyword) {
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (keyword == options->keyword && options->val != nullptr) return options->val;
  }
  return "";
}

}  // namespace

absl::Status PostgresStatus(std::string_view sqlstate, std::string_view database, std::string_view message,
                            std::string_view doing) {
  absl::StatusCode code = absl::StatusCode::kInternal;
  const std::string_view group = sqlstate.substr(0, 2);
  if (sqlstate.empty() || group == "08" || group == "57" || group == "55" || group == "40") {
    code = absl::StatusCode::kUnavailable;
  } else if (sqlstate == "23505") {
    code = absl::StatusCode::kAlreadyExists;
  } else if (group == "23" || group == "42" || group == "25" || group == "28" || group == "3D" ||
             group == "22") {
    code = absl::StatusCode::kFailedPrecondition;
  } else if (group == "53") {
    code = absl::StatusCode::kResourceExhausted;
  } else if (group == "XX" || sqlstate == kAnotherLeads) {
    code = absl::StatusCode::kDataLoss;
  }
  if (sqlstate == "42P01" || sqlstate == "42601" || sqlstate == "42703") code = absl::StatusCode::kInternal;
  const std::string shown(doing.substr(0, 300));
  return absl::Status(code, fmt::format("{}: {}{} ({})", database, message, AdviceFor(sqlstate), shown));
}

absl::Status CheckPostgresAddress(const std::string& address) {
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(address.c_str(), &problem));
  if (options == nullptr) {
    // The message repeats parts of the address, which may contain a password.
    PQfreemem(problem);
    return absl::FailedPreconditionError(
        "this is not an address of PostgreSQL; expected postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE&…, "
        "each OPTION one that PostgreSQL documents");
  }
  if (!OptionOf(options.get(), "password").empty() || !OptionOf(options.get(), "sslpassword").empty()) {
    return absl::FailedPreconditionError(
        "the address contains a password, which lists of processes and logs would show; put it into the file "
        "~/.pgpass or PGPASSFILE, PGPASSWORD, or a service file");
  }
  return absl::OkStatus();
}

std::string PostgresDatabaseName(const std::string& address) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(address.c_str(), nullptr));
  const std::string name = OptionOf(options.get(), "dbname");
  return name.empty() ? "winnow" : name;
}

absl::Status PostgresRefusal(std::string_view database, std::string_view message, bool needs_password) {
  return absl::Status(
      IsFinal(message) ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable,
      fmt::format("{}: {}{}", database, message, AdviceForConnection(message, needs_password)));
}

}  // namespace winnow
