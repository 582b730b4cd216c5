#include "worker/checkpoints/checkpoint_keeper.h"

#include <chrono>
#include <utility>

#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/checkpoints/transfers.h"

namespace winnow {
namespace {

// The server requests a model with every answer until it has it.
constexpr std::chrono::seconds kModelPause(10);

}  // namespace

CheckpointKeeper::CheckpointKeeper(Timers* timers, const std::shared_ptr<grpc::Channel>& channel,
                                   KeepingOptions options)
    : timers_(timers), client_(channel), options_(options) {}

CheckpointKeeper::~CheckpointKeeper() {
  *alive_ = false;
  // Abandons all before waiting for any.
  for (const auto& [id, restoring] : restoring_) restoring->Abandon();
  for (const auto& [id, watched] : watched_) watched.uploader->Abandon();
}

// Called from threads that end before this object.
void CheckpointKeeper::Post(std::function<void()> function) {
  timers_->Post([alive = alive_, function = std::move(function)] {
    if (*alive) function();
  });
}

void CheckpointKeeper::Restore(const v1::Assignment& assignment, const FolderName& folder,
                               std::function<void(absl::Status)> done) {
  const std::string id = assignment.id();
  const uint64_t number = ++last_restore_;
  restores_[id] = number;
  restoring_[number] = std::make_unique<Restoring>(
      &client_, assignment.restore(), folder, options_,
      WhenRestored(id, number, "its checkpoint has been fetched", std::move(done)));
}

void CheckpointKeeper::Copy(const v1::Assignment& assignment, const FolderName& source,
                            const FolderName& folder, std::function<void(absl::Status)> done) {
  const std::string id = assignment.id();
  const uint64_t number = ++last_restore_;
  restores_[id] = number;
  restoring_[number] = std::make_unique<Restoring>(
      source, folder,
      WhenRestored(id, number,
                   fmt::format("it has its own copy of trial {}'s checkpoint", assignment.origin()),
                   std::move(done)));
}

std::function<void(absl::Status)> CheckpointKeeper::WhenRestored(const std::string& id, uint64_t number,
                                                                 std::string text,
                                                                 std::function<void(absl::Status)> done) {
  return [this, number, id, text = std::move(text), done = std::move(done)](absl::Status status) {
    Post([this, number, id, text, done, status = std::move(status)] {
      restoring_.erase(number);
      const auto found = restores_.find(id);
      if (found == restores_.end() || found->second != number) return;
      restores_.erase(found);
      if (status.ok()) spdlog::info("{}: {}", id, text);
      done(status);
    });
  };
}

void CheckpointKeeper::AbandonRestore(const std::string& assignment_id) {
  const auto found = restores_.find(assignment_id);
  if (found == restores_.end()) return;
  restoring_.at(found->second)->Abandon();
  restores_.erase(found);
}

void CheckpointKeeper::Watch(const v1::Assignment& assignment, const FolderName& folder) {
  const std::string id = assignment.id();
  watched_[id].uploader = std::make_unique<CheckpointUploader>(
      &client_, assignment, folder, options_, [this, id] { Post([this, id] { Over(id); }); });
}

void CheckpointKeeper::End(const std::string& assignment_id, int64_t level, std::function<void()> done) {
  Watched& watched = watched_.at(assignment_id);
  watched.done = std::move(done);
  watched.uploader->End(level);
  if (watched.over) Post([this, assignment_id] { Over(assignment_id); });
}

void CheckpointKeeper::Over(const std::string& assignment_id) {
  const auto found = watched_.find(assignment_id);
  if (found == watched_.end()) return;
  found->second.over = true;
  if (!found->second.done) return;  // it was abandoned, and its trainer has not ended yet
  const std::function<void()> done = std::move(found->second.done);
  watched_.erase(found);
  done();
}

void CheckpointKeeper::Hasten(const std::string& assignment_id) {
  if (const auto found = watched_.find(assignment_id); found != watched_.end())
    found->second.uploader->Hasten();
}

void CheckpointKeeper::Abandon(const std::string& assignment_id) {
  if (const auto found = watched_.find(assignment_id); found != watched_.end())
    found->second.uploader->Abandon();
}

void CheckpointKeeper::Forget(const std::string& assignment_id) { watched_.erase(assignment_id); }

void CheckpointKeeper::StoreModel(const v1::ModelWanted& wanted, const FolderName& folder,
                                  std::function<void(std::string)> failed) {
  const Trial trial{wanted.job_id(), wanted.trial()};
  Model& model = models_[trial];
  if (model.upload != nullptr || timers_->Now() < model.not_before) return;
  auto done = [this, trial, failed = std::move(failed)](absl::Status status) {
    Post([this, trial, failed, status = std::move(status)] {
      std::erase_if(models_, [&](const auto& entry) {
        return entry.second.upload == nullptr && entry.second.not_before <= timers_->Now();
      });
      Model& over = models_[trial];
      over.upload = nullptr;
      over.not_before = timers_->Now() + kModelPause;
      if (status.ok()) {
        spdlog::info("the model of trial {} of {} is in the artifact store", trial.second, trial.first);
      } else {
        spdlog::warn("the model of trial {} of {} was not put into the artifact store: {}", trial.second,
                     trial.first, MessageOf(status));
        if (!IsPassing(status)) failed(MessageOf(status));
      }
    });
  };
  model.upload = std::make_unique<ModelUpload>(&client_, wanted, folder, std::move(done));
}

}  // namespace winnow
