#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/aws_access.h"
#include "worker/data/download_cache.h"
#include "worker/data/pipe_feeder.h"
#include "worker/host/run_as.h"

namespace winnow {

// What a channel is for one rank.
struct ViewWanted {
  std::string job;  // its id
  v1::ChannelToPrepare channel;
  int rank = 0;
  int ranks = 1;
  Variables variables = {};                        // of the job and its secrets
  Variables worker = {};                           // of the worker
  std::shared_ptr<AwsRole> role = nullptr;         // likewise
  std::optional<TrainerUser> user = std::nullopt;  // whose permissions count for files of the host

  bool sharded() const { return channel.channel().distribution() == "sharded" && ranks > 1; }
  bool piped() const { return channel.channel().mode() == "pipe"; }
};

// A channel as a rank of a job sees it: a folder with downloaded files, with links to those files of a
// directory that are the rank's, or with its part of a file; or, for a pipe, the list of what it streams.
class ChannelView {
 public:
  // Makes the view in a new folder below `parent`. Blocks; `progress` is called with the words of
  // Rank.preparing. FAILED_PRECONDITION and UNAVAILABLE say what is wrong with the data; RESOURCE_EXHAUSTED:
  // this machine is at fault; CANCELLED.
  static absl::StatusOr<std::shared_ptr<ChannelView>> Make(
      const ViewWanted& wanted, const std::filesystem::path& parent, DownloadCache& cache,
      const std::function<void(const std::string&)>& progress, const Cancellation& cancellation);
  // Removes the folder.
  ~ChannelView();
  ChannelView(const ChannelView&) = delete;
  ChannelView& operator=(const ChannelView&) = delete;

  const std::filesystem::path& path() const { return path_; }       // of the channel; not for a pipe
  const std::vector<PipePiece>& pieces() const { return pieces_; }  // of a pipe

 private:
  class Maker;
  ChannelView() = default;

  std::filesystem::path folder_;  // its own; "": none
  std::filesystem::path path_;
  std::vector<PipePiece> pieces_;
};

// Makes a folder of a name that nobody can guess, which others can pass and not list. RESOURCE_EXHAUSTED: it
// cannot be made.
absl::StatusOr<std::filesystem::path> MakePrivateFolder(const std::filesystem::path& parent);

}  // namespace winnow
