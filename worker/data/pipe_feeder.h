#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/remote_object.h"
#include "worker/host/run_as.h"

namespace winnow {

// Bytes that a pipe brings: a remote object, or a part of a local file.
struct PipePiece {
  std::optional<RemoteObject> object;
  std::filesystem::path file;  // without an object
  int64_t begin = 0;
  int64_t end = -1;  // -1: the end of the file
};

// Streams the pieces, one after the other, through the FIFOs PREFIX_0, PREFIX_1, …: one for each time that a
// program reads the data. The next FIFO is there before the one before it ends. A program may close one
// before its end, and opens each once. Nothing is kept on the disk.
class PipeFeeder {
 public:
  // `pieces` are read with the permissions of `user`, to whom the FIFOs belong; absent: the worker's.
  // `failed` is called once, on the feeder's thread, if the data cannot be had to its end: the program would
  // take what it has got for all. RESOURCE_EXHAUSTED: the first FIFO cannot be made.
  static absl::StatusOr<std::unique_ptr<PipeFeeder>> Start(std::filesystem::path prefix,
                                                           std::vector<PipePiece> pieces,
                                                           std::optional<TrainerUser> user,
                                                           TransferPatience patience,
                                                           std::function<void(absl::Status)> failed);
  // Ends every FIFO, and removes them.
  ~PipeFeeder();
  PipeFeeder(const PipeFeeder&) = delete;
  PipeFeeder& operator=(const PipeFeeder&) = delete;

 private:
  class Writer;

  PipeFeeder(std::filesystem::path prefix, std::vector<PipePiece> pieces, std::optional<TrainerUser> user,
             TransferPatience patience, std::function<void(absl::Status)> failed);
  std::filesystem::path PathOf(int64_t epoch) const;
  absl::Status Make(int64_t epoch);
  void Run();
  absl::Status Feed(Writer& writer);

  const std::filesystem::path prefix_;
  const std::vector<PipePiece> pieces_;
  const std::optional<TrainerUser> user_;
  const TransferPatience patience_;
  const std::function<void(absl::Status)> failed_;
  const int wake_;  // eventfd: readable once it is to end
  Cancellation cancellation_;
  int64_t made_ = 0;  // FIFOs; of the thread, while it runs
  std::thread thread_;
};

}  // namespace winnow
