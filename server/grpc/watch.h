#pragma once

#include <grpcpp/alarm.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "server/engine/hub.h"
#include "server/grpc/auth.h"
#include "server/reads/reads.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// Initial metadata of a stream with a valid request: a relay may forward it before the first message.
inline constexpr char kStreamOpen[] = "winnow-stream-open";

// One call of WatchTuningJob: reads committed events, writes them, waits for the next commit; ends with the
// job. gRPC's reactions, the hub's thread and the reader's thread all go through Next.
class JobWatch final : public grpc::ServerWriteReactor<v1::TuningJobEvent>,
                       public std::enable_shared_from_this<JobWatch> {
 public:
  // The admission under which a stream continues.
  struct Leave {
    Authority& authority;
    Requester by;
  };
  // Ends with UNAUTHENTICATED when the token is revoked, and before the next event once it has expired; with
  // NOT_FOUND when its holder is removed from the job's project.
  // `context` is the call's.
  static JobWatch* Start(grpc::CallbackServerContext& context, Reader& reader, Hub& hub,
                         const v1::WatchTuningJobRequest& request, Leave leave);

  void OnSendInitialMetadataDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  JobWatch(grpc::CallbackServerContext& context, Reader& reader, Hub& hub,
           const v1::WatchTuningJobRequest& request, Leave leave);
  void Changed();
  void EndPause();
  void End(grpc::Status status);
  void Read(Reads& reads);
  // Does the next step, if any.
  void Next();

  grpc::CallbackServerContext& context_;
  Reader& reader_;
  Hub& hub_;
  const std::string id_;
  const Leave leave_;
  std::shared_ptr<JobWatch> self_;  // until gRPC is done with this call
  int64_t job_subscription_ = 0;
  int64_t stop_subscription_ = 0;
  int64_t token_subscription_ = 0;

  Mutex mutex_;
  int64_t after_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::TuningJobEvent> outbox_ ABSL_GUARDED_BY(mutex_);
  v1::TuningJobEvent current_ ABSL_GUARDED_BY(mutex_);  // the event that gRPC is writing
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = true;  // there may be commits since the last read
  // Commits may follow each other faster than anybody reads of them: those in a pause are read at its end.
  std::chrono::steady_clock::time_point next_read_ ABSL_GUARDED_BY(mutex_);
  bool pausing_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);  // the end of the pause
  enum class Open { kNotYet, kWanted, kDone };
  Open open_ ABSL_GUARDED_BY(mutex_) = Open::kNotYet;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

// One call of GetLogs: answers when there are bytes beyond the offset, when the process has ended, or after
// the client's wait time.
class LogPoll final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<LogPoll> {
 public:
  static LogPoll* Start(Reader& reader, Hub& hub, const v1::GetLogsRequest& request,
                        v1::GetLogsResponse* response);

  void OnCancel() override;
  void OnDone() override;

 private:
  LogPoll(Reader& reader, Hub& hub, const v1::GetLogsRequest& request, v1::GetLogsResponse* response)
      : reader_(reader), hub_(hub), request_(request), response_(response) {}
  void Look(bool last);
  void Read(Reads& reads, bool last);
  void Finish(const absl::Status& status);

  Reader& reader_;
  Hub& hub_;
  const v1::GetLogsRequest request_;
  v1::GetLogsResponse* const response_;
  std::shared_ptr<LogPoll> self_;  // until gRPC is done with this call

  Mutex mutex_;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t log_subscription_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t stop_subscription_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
