#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The projects that a person is a member of, and whether they lead them.
using Memberships = std::map<std::string, bool, std::less<>>;

// What callers name the project that everyone is a member of, and to which jobs belong that name none.
inline constexpr char kDefaultProject[] = "default";
// The project that a caller names: "" for the default one.
std::string ProjectNamed(const std::string& name);
// The project that a job of this id belongs to, or would if there were one; "": the default one.
std::string_view ProjectOfJob(std::string_view id);
// NOT_FOUND, in the same words whether there is none or the caller may not see it.
absl::Status NoJob(std::string_view id);
absl::Status NoTrial(std::string_view job, int64_t trial);
absl::Status NoProject(std::string_view name);

// Whose a job is.
struct JobPlace {
  std::string_view id;
  std::string_view owner;  // name of the token that created it; "": none
};

// What a caller would do with a job.
enum class Deed {
  kSee,         // with its trials, metrics, logs and models
  kRun,         // as a worker: its source and checkpoints too
  kChange,      // stop, annotate, delete it, train for it
  kReadOwners,  // what only its owner is shown: the values of its environment
};

// Who makes a request. It owns the jobs that it creates.
struct Requester {
  std::string name;          // of the token, else "token ID"; "": without a token
  std::string token_id;      // "": none
  bool any = true;           // an admin, or no tokens are required: may do everything with every job
  bool worker = false;       // a token of role worker
  std::string address = {};  // the host that it comes from, "unix" over the server's socket; "": not known
  std::shared_ptr<const Memberships> memberships = {};  // null: none
  // A worker's: the projects whose jobs it may run, and a pattern of its workers' names. Empty: all, any.
  std::vector<std::string> worker_projects = {};
  std::string worker_names = {};

  // Who may do what: the only place that decides.
  bool May(Deed deed, const JobPlace& job) const;

  // Whether it is a member of the project, or a worker that may run its jobs.
  bool Sees(std::string_view project) const;
  // Whether it may change the members of the project, and all its jobs.
  bool Leads(std::string_view project) const;
  // The projects whose jobs it sees; absent: all.
  std::optional<std::vector<std::string>> Visible() const;

  // NOT_FOUND, as for a job that is not there, if it may not see the job.
  absl::Status CheckSees(std::string_view job) const;
  // The same, and PERMISSION_DENIED names the job, its owner, and who may.
  absl::Status MayChange(const std::string& job, const std::string& owner) const;
  // The same for the source of a job.
  absl::Status MayReadSource(const std::string& job, const std::string& owner) const;
  // Hides what only the owner is shown.
  void Redact(v1::TuningJob& job) const;
  // The recorded reason of a stop by this request.
  std::string StopReason() const { return name.empty() ? "stopped by request" : "stopped by " + name; }
  // "ana (token 3f2a91c4)": one line, whatever the name holds.
  std::string ForLog() const;
};

}  // namespace winnow
