#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "artifact/files.h"
#include "base/task_threads.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/aws_access.h"
#include "worker/data/channel_view.h"
#include "worker/data/download_cache.h"
#include "worker/host/event_loop.h"
#include "worker/host/run_as.h"

namespace winnow {

// Where channels are prepared.
struct ChannelPlace {
  std::filesystem::path folder;  // of downloads and views, for all workers of the host that name it
  std::string worker;            // an id of this worker's work directory
  int64_t most_bytes = 0;        // of downloads that nobody uses
  Variables environment = {};    // the worker's own
  TransferPatience patience = {};
};

// The folder in ChannelPlace's where views are.
std::filesystem::path ViewsFolder(const std::filesystem::path& folder);

// What a rank asks for.
struct ChannelsWanted {
  v1::Assignment assignment;
  Variables secrets = {};                          // of the job
  std::optional<TrainerUser> user = std::nullopt;  // absent: the worker's own
};

// The channels of a rank, as long as it lives.
struct PreparedChannels : std::enable_shared_from_this<PreparedChannels> {
  std::map<std::string, std::string> paths;  // by channel; of a pipe: to which _0, _1, … is added
  // Set by the holder: called on the loop's thread if a pipe cannot bring its data to their end.
  std::function<void(absl::Status)> broken;
  std::vector<std::shared_ptr<const void>> held;
};

// Channels of jobs that are not just a path: downloaded, divided among ranks, streamed. What is the same for
// all trials of a job is made once (ChannelView) and shared, read-only; it stays for some minutes after its
// last use. Methods and callbacks run on the loop's thread.
class ChannelKeeper {
 public:
  // `loop` outlives it. Removes what workers that have ended left in the folder.
  ChannelKeeper(EventLoop* loop, ChannelPlace place);
  // No callback runs afterwards.
  ~ChannelKeeper();

  using Progress = std::function<void(std::string what)>;  // as Rank.preparing
  using Done = std::function<void(absl::StatusOr<std::shared_ptr<PreparedChannels>>)>;
  // An error names the channel: RESOURCE_EXHAUSTED is this machine's fault; any other is the data's, or of
  // the way there.
  void Prepare(ChannelsWanted wanted, Progress progress, Done done);
  // Afterwards that Prepare does not call its callbacks. A download that nobody waits for ends; it goes on
  // where it was when somebody wants it again.
  void Abandon(const std::string& assignment_id);

 private:
  struct Waiter {
    std::string assignment;
    Progress progress;
    std::function<void(absl::StatusOr<std::shared_ptr<ChannelView>>)> done;
  };
  struct Making {  // a view that is being made
    int64_t number = 0;
    std::vector<Waiter> waiters;
    std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
  };
  struct Kept {
    std::shared_ptr<ChannelView> view;
    EventLoop::TimePoint used;
  };
  struct Gathering;  // the channels of one rank

  void PrepareNext(const std::shared_ptr<Gathering>& gathering);
  void GetView(const ViewWanted& wanted, const std::string& key, Waiter waiter);
  void Make(const ViewWanted& wanted, const std::string& key, const Making& making);
  // Starts the pipe of a channel.
  absl::Status Feed(const ViewWanted& wanted, const ChannelView& view, PreparedChannels& channels);
  void Finish(const std::string& key, int64_t number, absl::StatusOr<std::shared_ptr<ChannelView>> view);
  void RemoveOfEnded();
  void Sweep();
  void Post(std::function<void()> function);

  EventLoop* const loop_;
  const ChannelPlace place_;
  std::filesystem::path views_;
  std::optional<OpenFile> lock_;  // says to other workers that the views are in use
  DownloadCache cache_;
  const std::shared_ptr<AwsRole> role_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  int64_t last_making_ = 0;
  std::map<std::string, Making> making_;
  std::map<std::string, Kept> kept_;
  EventLoop::Id sweep_timer_ = 0;
  // By number. Each making has its own, because one may wait for hours, for a download of another job.
  std::map<int64_t, std::thread> makers_;
  TaskThreads threads_;  // declared last: its tasks use the members
};

}  // namespace winnow
