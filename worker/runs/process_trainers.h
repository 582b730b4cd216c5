#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/task_threads.h"
#include "worker/checkpoints/checkpoint_keeper.h"
#include "worker/data/channel_keeper.h"
#include "worker/host/event_loop.h"
#include "worker/host/job_folders.h"
#include "worker/host/port_lease.h"
#include "worker/runs/trainer_parents.h"
#include "worker/runs/trainer_run.h"
#include "worker/runs/trainers.h"
#include "worker/runs/waiting_trainers.h"
#include "worker/sources/source_keeper.h"

namespace winnow {

// Preferred rendezvous ports of gangs; other ports are used when these are taken.
struct PortRange {
  int first = 0;
  int count = 0;
};

// Assignments as processes of this machine. Lives on the loop's thread, longer than the trainers it starts.
class ProcessTrainers : public Trainers {
 public:
  // `keeper`, `sources` and `channels` outlive it; null: no artifacts are sent or fetched, no sources used,
  // and channels are just paths. From now on `sources` takes its users from here.
  ProcessTrainers(EventLoop* loop, TrainerPlace place, PortRange ports, CheckpointKeeper* keeper = nullptr,
                  SourceKeeper* sources = nullptr, WarmLimits warm = {}, ChannelKeeper* channels = nullptr);
  ~ProcessTrainers() override;

  void TellPreparing(std::function<void(const std::string&, std::string)> tell) override {
    tell_preparing_ = std::move(tell);
  }

  void Prepare(const v1::Assignment& assignment, std::function<void(absl::StatusOr<Prepared>)> done) override;
  void AbandonPrepare(const std::string& assignment_id) override;
  void MakeReady(const v1::Assignment& assignment) override;
  absl::StatusOr<std::unique_ptr<RankRun>> Start(const v1::Assignment& assignment,
                                                 RankRun::Events events) override;
  void StoreModel(const v1::ModelWanted& wanted, std::function<void(std::string)> failed) override;
  std::vector<v1::WaitingTrainer> Waiting() const override;
  void LetGo(const v1::WaitingTrainer& trainer) override;
  void Spare(const std::vector<v1::WaitingTrainer>& trainers) override { waiting_.Spare(trainers); }
  void LetGoAll(bool leaves) override;
  void ListJobs(std::function<void(std::vector<std::string>)> done) override;
  void RemoveJobs(const std::vector<std::string>& marks) override { folders_.Remove(marks); }

 private:
  using PrepareDone = std::function<void(absl::StatusOr<Prepared>)>;

  // State of a prepared or running assignment.
  struct Place {
    std::optional<PortLease> port;                         // for a rank 0
    int slot = -1;                                         // WINNOW_SLOT, from its start until it only saves
    std::shared_ptr<const UserLease> user = nullptr;       // null: this process's user
    std::shared_ptr<SourceLease> source = nullptr;         // null: the job has none
    std::optional<ContainerImage> image = std::nullopt;    // of its container; absent: it has none
    std::shared_ptr<PreparedChannels> channels = nullptr;  // null: none that is prepared
    std::unique_ptr<HeldProgram> held = nullptr;           // before its start, if it could be forked
    RankRun* run = nullptr;                                // once it has started
    // How it ends, because a pipe could not bring its data to their end.
    std::optional<v1::Outcome> broken = std::nullopt;
  };

  absl::StatusOr<UserLease> TakeUser(const FolderName& folder);
  void MakeImage(const v1::Assignment& assignment, const PrepareDone& done);
  void MakeSource(const v1::Assignment& assignment, const PrepareDone& done);
  v1::Assignment InImage(v1::Assignment assignment) const;
  void MakeUser(const v1::Assignment& assignment, const PrepareDone& done);
  void MakeChannels(const v1::Assignment& assignment, const PrepareDone& done);
  void MakeFolders(const v1::Assignment& assignment, const PrepareDone& done);
  void UseFolders(const v1::Assignment& assignment, const absl::StatusOr<TrialDirectories>& directories,
                  const PrepareDone& done);
  void ChannelBroken(const std::string& id, const absl::Status& status);
  void Give(const v1::Assignment& assignment, const PrepareDone& done);
  void Given(const absl::Status& status, const v1::Assignment& assignment, const PrepareDone& done);
  FolderName InShared(const std::filesystem::path& folder) const;
  absl::StatusOr<Prepared> TakePort(const v1::Assignment& assignment);
  int FreeSlot() const;
  v1::Assignment Placed(const v1::Assignment& assignment, const Place& place) const;
  bool MayBeTold(const v1::Assignment& assignment, const Place& place) const;

  EventLoop* const loop_;
  TaskThreads removal_;
  const TrainerPlace place_;
  const PortRange range_;
  CheckpointKeeper* const keeper_;
  SourceKeeper* const sources_;
  ChannelKeeper* const channels_;
  std::function<void(const std::string&, std::string)> tell_preparing_;
  // By assignment. When rank 0 has ended, the gang is over, so the next gang can have its port.
  std::map<std::string, Place> places_;
  WaitingTrainers waiting_;
  TrainerParents parents_;
  JobFolders folders_;
  // Assignments whose trial's folders are being emptied, or given to its user.
  std::set<std::string> beside_loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  TaskThreads emptying_;
  TaskThreads giving_;
};

}  // namespace winnow
