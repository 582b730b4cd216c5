#include "worker/checkpoints/checkpoint_uploader.h"

#include <algorithm>
#include <utility>

#include "artifact/snapshot.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace winnow {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

bool IsPassing(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

CheckpointUploader::CheckpointUploader(ArtifactClient* client, const v1::Assignment& assignment,
                                       const FolderName& folder, const KeepingOptions& options,
                                       std::function<void()> done)
    : client_(client),
      assignment_(assignment),
      folder_(folder),
      copy_(folder_.parent() / ".checkpoint.upload"),
      options_(options),
      done_(std::move(done)),
      step_(SteadyClock::now()),
      thread_([this] { Run(); }) {}

CheckpointUploader::~CheckpointUploader() {
  Abandon();
  thread_.join();
}

void CheckpointUploader::End(int64_t level) {
  {
    MutexLock lock(mutex_);
    last_level_ = level;
  }
  changed_.NotifyAll();
}

void CheckpointUploader::Hasten() {
  hasty_ = true;
  changed_.NotifyAll();
}

void CheckpointUploader::Abandon() {
  cancellation_.Cancel();
  {
    MutexLock lock(mutex_);
    abandoned_ = true;
  }
  changed_.NotifyAll();
}

// Returns false if it must send no more while the trainer runs.
bool CheckpointUploader::WaitFor(std::chrono::milliseconds time) {
  MutexLock lock(mutex_);
  const auto end = SteadyClock::now() + time;
  while (!abandoned_ && !last_level_ && changed_.WaitUntil(mutex_, end)) {
  }
  return !abandoned_ && !last_level_.has_value();
}

void CheckpointUploader::Run() {
  std::chrono::milliseconds pause = options_.look_every;
  while (WaitFor(pause)) {
    const auto begun = SteadyClock::now();
    const Result result = SendNewest(assignment_.resource_from());
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun);
    pause = std::max(options_.look_every, took * options_.pause_factor);
    if (result == Result::kRetry) pause = std::max(pause, options_.last_retry);
    if (result == Result::kRefused) pause = std::max(pause, options_.patience);
  }
  SendLast();
  if (const auto beside = OpenFolder::Open(copy_.parent()); beside.ok())
    beside->Remove(copy_.below.filename()).IgnoreError();
  done_();
}

void CheckpointUploader::SendLast() {
  int64_t level = 0;
  {
    MutexLock lock(mutex_);
    if (abandoned_ || !last_level_.has_value()) return;
    level = *last_level_;
  }
  step_ = SteadyClock::now();
  sent_ = {};
  std::chrono::milliseconds pause = options_.first_retry;
  while (SendNewest(level) == Result::kRetry) {
    if (PatienceIsOver()) {
      spdlog::warn("{}: the checkpoint stays on this worker: {}", assignment_.id(), told_error_);
      return;
    }
    if (!cancellation_.Sleep(pause)) return;
    pause = std::min(2 * pause, options_.last_retry);
  }
}

bool CheckpointUploader::PatienceIsOver() const {
  return SteadyClock::now() - step_ >= (hasty_ ? options_.leaving_patience : options_.patience);
}

CheckpointUploader::Result CheckpointUploader::SendNewest(int64_t level) {
  const absl::StatusOr<Listing> listing = ListFolder(folder_);
  if (listing.ok() && !listing->skipped.empty() && !std::exchange(told_skipped_, true)) {
    spdlog::warn("{}: not part of the checkpoint for other workers: {}", assignment_.id(),
                 listing->skipped[0]);
  }
  if (listing.ok() && (listing->files.empty() || *listing == sent_)) return Result::kNothing;
  const absl::Status status = listing.ok() ? Send(level) : listing.status();
  if (status.ok()) {
    sent_ = *listing;
    told_error_.clear();
    return Result::kSent;
  }
  if (absl::IsNotFound(status)) return Result::kNothing;
  if (absl::IsCancelled(status) && cancellation_.cancelled()) return Result::kRefused;
  const std::string error(status.message());
  if (!absl::IsAborted(status) && std::exchange(told_error_, error) != error) {
    spdlog::warn("{}: its checkpoint was not put into the artifact store: {}", assignment_.id(), error);
  }
  return IsPassing(status) ? Result::kRetry : Result::kRefused;
}

absl::Status CheckpointUploader::Send(int64_t level) {
  if (absl::Status status = SnapshotFolder(folder_, copy_); !status.ok()) return status;
  absl::StatusOr<v1::Manifest> manifest = MakeManifest(copy_);
  if (!manifest.ok()) return manifest.status();
  if (manifest->files().empty()) return absl::OkStatus();
  v1::PutArtifactRequest request;
  request.set_assignment_id(assignment_.id());
  v1::Artifact* artifact = request.mutable_artifact();
  artifact->set_job_id(assignment_.job_id());
  artifact->set_trial(assignment_.trial());
  artifact->set_kind(v1::Artifact::CHECKPOINT);
  artifact->set_attempt(assignment_.attempt());
  artifact->set_resource(level);
  *artifact->mutable_manifest() = *std::move(manifest);
  return client_->Upload(request, copy_, cancellation_, [this] { step_ = SteadyClock::now(); });
}

}  // namespace winnow
