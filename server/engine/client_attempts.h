#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/decide.h"
#include "server/engine/answers/requester.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/recorder.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Attempts that clients train by themselves (SuggestTrials, ReportMetrics, CompleteTrial). Their facts are
// the same as of attempts that workers train; their leases are kept here. Owner: the coordinator thread;
// every method runs inside the batch's transaction.
class ClientAttempts {
 public:
  ClientAttempts(Context& context, Jobs& jobs, Recorder& recorder)
      : context_(context), jobs_(jobs), recorder_(recorder) {}

  // Forgets all clients. REQUIRES jobs are loaded. Every live attempt gets a whole lease.
  void Load();
  void RenewLeases();

  // Records the admission and starts the attempt. REQUIRES an external job and an admission that runs a
  // trial.
  absl::StatusOr<v1::SuggestedTrial> Start(OpenJob& job, const Admission& admission,
                                           const std::string& client);
  // Records an admission's decision that starts no attempt.
  void Follow(OpenJob& job, const Decision& decision) { recorder_.Record(job, ToBody(decision)); }
  // The attempt never reached its client, and so does not count against the trial. Does nothing if the
  // attempt is not live any more.
  void HandBack(OpenJob& job, TrialNumber trial, int64_t attempt);
  void LeaseExpired(const std::string& subject);

  absl::StatusOr<v1::ReportMetricsResponse> Report(const v1::ReportMetricsRequest& request,
                                                   const Requester& by);
  absl::StatusOr<v1::CompleteTrialResponse> Complete(const v1::CompleteTrialRequest& request,
                                                     const Requester& by);

 private:
  using Points = google::protobuf::RepeatedPtrField<v1::ReportedPoint>;
  // A trial as it is now; if its job has ended, from the trial's row.
  struct Found {
    int64_t key = 0;
    OpenJob* job = nullptr;  // null: has ended
    v1::TuningJobSpec spec;
    TrialRow trial;
    bool live = false;
  };
  struct Client {
    std::string name;      // "": not known since the server was started anew
    int64_t heard_us = 0;  // wall time of its last word
  };

  absl::StatusOr<Found> Find(const std::string& job_id, const Requester& by, int64_t trial, int64_t attempt);
  void Renew(const OpenJob& job, TrialNumber trial, const std::string& client);
  absl::Status Check(const OpenJob& job, TrialNumber trial, const Points& points) const;
  void Record(OpenJob& job, TrialNumber trial, const Points& points);
  void End(OpenJob& job, TrialNumber trial, AttemptOutcome outcome, const std::string& reason,
           int64_t ended_us);
  absl::StatusOr<bool> IsRepeated(const Found& found, const v1::CompleteTrialRequest& request);

  Context& context_;
  Jobs& jobs_;
  Recorder& recorder_;
  std::map<std::string, Client> clients_;  // of live attempts, by the subject of the lease
};

// How long a client of the job may be silent.
int64_t ClientLeaseUs(const v1::TuningJobSpec& spec);

}  // namespace winnow
