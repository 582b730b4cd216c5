#include "server/grpc/watch.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <chrono>

#include "server/grpc/errors.h"

namespace winnow {
namespace {

constexpr int64_t kMostWatchWaitUs = 60'000'000;
constexpr std::chrono::milliseconds kWatchPause(50);  // between two reads of a job's events

grpc::Status Stopping() { return {grpc::StatusCode::UNAVAILABLE, "the server is stopping"}; }

}  // namespace

JobWatch::JobWatch(grpc::CallbackServerContext& context, Reader& reader, Hub& hub,
                   const v1::WatchTuningJobRequest& request, Leave leave)
    : context_(context),
      reader_(reader),
      hub_(hub),
      id_(request.id()),
      leave_(std::move(leave)),
      after_(request.after_sequence()) {}

JobWatch* JobWatch::Start(grpc::CallbackServerContext& context, Reader& reader, Hub& hub,
                          const v1::WatchTuningJobRequest& request, Leave leave) {
  std::shared_ptr<JobWatch> watch(new JobWatch(context, reader, hub, request, std::move(leave)));
  watch->self_ = watch;
  std::weak_ptr<JobWatch> weak = watch;
  watch->job_subscription_ = hub.Subscribe(JobTopic(request.id()), [weak] {
    if (auto self = weak.lock()) self->Changed();
  });
  watch->stop_subscription_ = hub.Subscribe(kStopTopic, [weak] {
    if (auto self = weak.lock()) self->End(Stopping());
  });
  if (!watch->leave_.by.token_id.empty()) {
    watch->token_subscription_ = hub.Subscribe(TokenTopic(watch->leave_.by.token_id), [weak] {
      if (auto self = weak.lock()) self->Changed();
    });
  }
  watch->Next();
  return watch.get();
}

void JobWatch::OnDone() {
  hub_.Unsubscribe(job_subscription_);
  hub_.Unsubscribe(stop_subscription_);
  hub_.Unsubscribe(token_subscription_);
  std::shared_ptr<JobWatch> last = std::move(self_);
}

void JobWatch::OnCancel() { End(grpc::Status::CANCELLED); }

void JobWatch::Changed() {
  {
    MutexLock lock(mutex_);
    changed_ = true;
  }
  Next();
}

void JobWatch::EndPause() {
  {
    MutexLock lock(mutex_);
    pausing_ = false;
  }
  Next();
}

void JobWatch::End(grpc::Status status) {
  {
    MutexLock lock(mutex_);
    if (!end_) end_ = std::move(status);
    outbox_.clear();
  }
  Next();
}

void JobWatch::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
  }
  ok ? Next() : End(grpc::Status::CANCELLED);
}

void JobWatch::OnSendInitialMetadataDone(bool ok) { OnWriteDone(ok); }

void JobWatch::Read(Reads& reads) {
  absl::Status leave = leave_.authority.CheckStill(leave_.by.token_id);
  if (leave.ok()) leave = leave_.authority.RequesterOf(leave_.by.token_id).CheckSees(id_);
  if (!leave.ok()) {
    return End(ToGrpc(leave));
  }
  int64_t after = 0;
  {
    MutexLock lock(mutex_);
    after = after_;
  }
  absl::StatusOr<WatchBatch> batch = reads.Watch(id_, after);
  if (batch.ok()) leave_.by.Redact(batch->job);
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (!batch.ok()) {
      if (!end_) end_ = ToGrpc(batch.status());
    } else if (!end_) {
      if (open_ == Open::kNotYet) open_ = Open::kWanted;
      if (after_ < 0) after_ = batch->job.last_sequence();
      for (v1::TuningJobEvent& event : batch->events) {
        after_ = event.sequence();
        outbox_.push_back(std::move(event));
      }
      if (!batch->events.empty()) *outbox_.back().mutable_job() = std::move(batch->job);
      if (batch->more) {
        changed_ = true;
        next_read_ = {};
      }
      if (batch->ended) end_ = grpc::Status::OK;
    }
  }
  Next();
}

void JobWatch::Next() {
  enum class Step { kNone, kOpen, kWrite, kFinish, kRead } step = Step::kNone;
  grpc::Status status;
  std::unique_ptr<grpc::Alarm> ended_alarm;  // its destructor takes no lock of ours
  {
    MutexLock lock(mutex_);
    if (finished_ || writing_) return;
    if (open_ == Open::kWanted) {
      open_ = Open::kDone;
      writing_ = true;
      step = Step::kOpen;
    } else if (!outbox_.empty()) {
      current_ = std::move(outbox_.front());
      outbox_.pop_front();
      writing_ = true;
      step = Step::kWrite;
    } else if (end_) {
      finished_ = true;
      status = *end_;
      step = Step::kFinish;
    } else if (changed_ && !reading_ && !pausing_) {
      const auto now = std::chrono::steady_clock::now();
      if (now < next_read_) {
        pausing_ = true;
        ended_alarm = std::exchange(alarm_, std::make_unique<grpc::Alarm>());
        alarm_->Set(std::chrono::system_clock::now() + (next_read_ - now),
                    [weak = weak_from_this()](bool /*expired*/) {
                      if (auto self = weak.lock()) self->EndPause();
                    });
      } else {
        changed_ = false;
        reading_ = true;
        next_read_ = now + kWatchPause;
        step = Step::kRead;
      }
    }
  }
  // gRPC may call back from within these, so the lock is not held.
  if (step == Step::kOpen) {
    context_.AddInitialMetadata(kStreamOpen, "1");
    StartSendInitialMetadata();
  }
  if (step == Step::kWrite) StartWrite(&current_);
  if (step == Step::kFinish) Finish(status);
  if (step == Step::kRead) reader_.Post([self = shared_from_this()](Reads& reads) { self->Read(reads); });
}

LogPoll* LogPoll::Start(Reader& reader, Hub& hub, const v1::GetLogsRequest& request,
                        v1::GetLogsResponse* response) {
  std::shared_ptr<LogPoll> poll(new LogPoll(reader, hub, request, response));
  poll->self_ = poll;
  LogPoll* raw = poll.get();
  int64_t wait = google::protobuf::util::TimeUtil::DurationToMicroseconds(request.wait());
  if (wait < 0 || wait > kMostWatchWaitUs) {
    raw->Finish(absl::InvalidArgumentError(
        fmt::format("wait: {} s is out of range; expected 0 to 60 s", static_cast<double>(wait) / 1e6)));
  } else {
    raw->Look(wait == 0);
  }
  return raw;
}

void LogPoll::OnDone() { std::shared_ptr<LogPoll> last = std::move(self_); }

void LogPoll::OnCancel() { Finish(absl::CancelledError("cancelled by the client")); }

void LogPoll::Look(bool last) {
  reader_.Post([self = shared_from_this(), last](Reads& reads) { self->Read(reads, last); });
}

void LogPoll::Read(Reads& reads, bool last) {
  {
    MutexLock lock(mutex_);
    if (finished_) return;
  }
  absl::StatusOr<LogAnswer> answer = reads.GetLogs(request_);
  if (!answer.ok() || last || !answer->response.data().empty() || answer->response.ended()) {
    if (answer.ok()) {
      MutexLock lock(mutex_);
      if (finished_) return;
      *response_ = std::move(answer->response);
    }
    Finish(answer.status());
    return;
  }
  MutexLock lock(mutex_);
  if (waiting_ || finished_) return;
  waiting_ = true;
  std::weak_ptr<LogPoll> weak = weak_from_this();
  auto look = [weak] {
    if (auto self = weak.lock()) self->Look(false);
  };
  log_subscription_ = hub_.Subscribe(LogTopic(answer->assignment), look);
  stop_subscription_ = hub_.Subscribe(kStopTopic, [weak] {
    if (auto self = weak.lock()) self->Finish(absl::UnavailableError("the server is stopping"));
  });
  int64_t wait = google::protobuf::util::TimeUtil::DurationToMicroseconds(request_.wait());
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + std::chrono::microseconds(wait), [weak](bool expired) {
    auto self = weak.lock();
    if (expired && self) self->Look(true);
  });
  look();  // for commits between the read and the subscription
}

void LogPoll::Finish(const absl::Status& status) {
  std::unique_ptr<grpc::Alarm> alarm;  // its destructor cancels, without the lock
  {
    MutexLock lock(mutex_);
    if (finished_) return;
    finished_ = true;
    hub_.Unsubscribe(log_subscription_);
    hub_.Unsubscribe(stop_subscription_);
    alarm = std::move(alarm_);
  }
  ServerUnaryReactor::Finish(ToGrpc(status));
}

}  // namespace winnow
