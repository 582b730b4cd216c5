#include "cli/commands/audit.h"

#include <fmt/core.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

constexpr int64_t kMostDaysAgo = 36'500;

// What an entry is about: the job, a trial of it, or a token, a worker and so on.
std::string AboutText(const v1::AuditEntry& entry) {
  if (entry.job_id().empty()) return entry.subject();
  return entry.trial() == 0 ? entry.job_id() : fmt::format("{} trial {}", entry.job_id(), entry.trial());
}

}  // namespace

absl::StatusOr<absl::Time> SinceTime(const std::string& text, absl::Time now) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime("%Y-%m-%d", text, &time, &error)) return time;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  int64_t days = 0;
  if (text.ends_with("d") && absl::SimpleAtoi(text.substr(0, text.size() - 1), &days) && days >= 0 &&
      days <= kMostDaysAgo) {
    return now - days * absl::Hours(24);
  }
  absl::Duration age;
  if (absl::ParseDuration(text, &age) && age >= absl::ZeroDuration() &&
      age <= kMostDaysAgo * absl::Hours(24)) {
    return now - age;
  }
  return absl::InvalidArgumentError(fmt::format(
      "--since: \"{}\" is no time; expected a day (2026-11-22), a time (2026-11-22T08:00:00Z) or an age "
      "(30m, 12h, 7d)",
      text));
}

Exit ShowAudit(Session& session, const AuditOptions& options) {
  v1::ListAuditEntriesRequest request;
  request.set_person(options.person);
  request.set_job_id(options.job);
  request.set_method(options.method);
  if (!options.since.empty()) {
    const absl::StatusOr<absl::Time> since = SinceTime(options.since, absl::Now());
    if (!since.ok()) return since.status();
    request.mutable_since()->set_seconds(std::max<int64_t>(0, absl::ToUnixSeconds(*since)));
  }
  const auto list = session.client().Audit(std::move(request), options.limit);
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->entries())) return kSuccess;
  if (list->entries().empty()) {
    session.out.Print("The audit log has no such entry.\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table({{"TIME"},
               {"PERSON"},
               {"TOKEN", Align::kLeft, 2},
               {"ADDRESS", Align::kLeft, 1},
               {"METHOD"},
               {"ABOUT"},
               {"DETAIL", Align::kLeft, 3},
               {"OUTCOME"}});
  for (const v1::AuditEntry& entry : list->entries()) {
    table.Add({{TimeText(entry.time())},
               {entry.person(), Style::kBold},
               {entry.token_id()},
               {entry.address()},
               {entry.method()},
               {AboutText(entry)},
               {entry.detail()},
               {entry.outcome(), entry.outcome() == "OK" ? Style::kGood : Style::kBad}});
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("audit --output json")));
  if (!list->next_page_token().empty())
    session.err.Print("There are older entries; see --limit and --since.\n");
  return kSuccess;
}

}  // namespace winnow::cli
