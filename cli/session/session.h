#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/output/json.h"
#include "cli/output/terminal.h"
#include "cli/session/client.h"
#include "rpc/endpoint.h"

namespace winnow::cli {

enum class Output { kText, kJson, kJsonLines, kCsv };

// The exit code of a command, or the error that prevented it.
using Exit = absl::StatusOr<int>;
constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

// The context of every command.
struct Session {
  Endpoint endpoint = {};
  absl::Status endpoint_problem = absl::OkStatus();     // why there is no `endpoint`; every call returns it
  std::string endpoint_flags = "";                      // those of the command line, which hints must repeat
  std::vector<EndpointSetting> endpoint_settings = {};  // where `endpoint` is from, and the context first
  absl::Duration timeout = absl::Seconds(10);
  Output output = Output::kText;
  Terminal out;  // standard output
  Terminal err;  // standard error

  // Created at first use, because `plan` and `completion` rarely need one.
  Client& client();
  // Returns a command to run next: "winnow trials j --sort objective", with --server and the like if needed.
  std::string Hint(const std::string& arguments) const;

  std::unique_ptr<Client> connected;
};

// Prints the message if JSON was asked for; false: it was not.
inline bool PrintsJson(Session& session, const google::protobuf::Message& message) {
  if (session.output != Output::kJson) return false;
  session.out.Print(ToJson(message));
  return true;
}

// Prints the message, or a line for each of its `rows`, if JSON was asked for; false: it was not.
template <class Rows>
bool PrintsJson(Session& session, const google::protobuf::Message& message, const Rows& rows) {
  if (session.output != Output::kJsonLines) return PrintsJson(session, message);
  session.out.Print(ToJsonLines(rows));
  return true;
}

// Whether rows are printed as they come, page by page, because no row's text depends on another's.
inline bool PrintsRows(const Session& session) {
  return session.output == Output::kJsonLines || session.output == Output::kCsv;
}

// Takes the pages of a list: prints the rows of each where PrintsRows, else adds it to `all`. `csv`: the rows
// of a page as CSV, after the titles if it is the first. `session` and `all` outlive the result.
template <class Page, class Rows>
TakePage<Page> PrintOrKeep(Session& session, Page& all, const Rows& (Page::*rows)() const,
                           std::type_identity_t<std::function<std::string(const Page&, bool first)>> csv) {
  if (!PrintsRows(session)) return AddTo(all);
  if (session.output == Output::kJsonLines)
    return [&session, rows](const Page& page) { session.out.Print(ToJsonLines((page.*rows)())); };
  return [&session, csv = std::move(csv), first = true](const Page& page) mutable {
    session.out.Print(csv(page, std::exchange(first, false)));
  };
}

// Returns an error of the command line: exit code 2.
absl::Status UsageError(const std::string& message);
bool IsUsageError(const absl::Status& status);

}  // namespace winnow::cli
