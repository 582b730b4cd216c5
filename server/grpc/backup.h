#pragma once

#include <grpcpp/support/server_callback.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

// A file without a name: deleted with the object.
class UnnamedFile {
 public:
  // Opens the file `path` and removes its name.
  static absl::StatusOr<std::unique_ptr<UnnamedFile>> Take(const std::string& path);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  int64_t size() const { return size_; }
  // Returns at most `limit` bytes from `offset`.
  absl::StatusOr<std::string> Read(int64_t offset, int64_t limit) const;

 private:
  UnnamedFile(int descriptor, int64_t size) : descriptor_(descriptor), size_(size) {}
  const int descriptor_;
  const int64_t size_;
};

// Copies a database in use, one copy at a time, on its own thread, so that the coordinator does not wait.
// Thread-safe.
class Backups {
 public:
  // Copies are beside `database` while they are sent. `endpoint`: the folder of the endpoint for clients of
  // SageMaker, whose state is in the copies. The destructor answers pending calls with UNAVAILABLE.
  Backups(std::string database, std::filesystem::path endpoint)
      : database_(std::move(database)), endpoint_(std::move(endpoint)) {}

  // AdminService.Backup. gRPC owns what it returns.
  grpc::ServerWriteReactor<v1::BackupPart>* Serve();

  struct Task {
    std::function<bool()> cancelled;
    std::function<void(absl::StatusOr<std::unique_ptr<UnnamedFile>>)> done;
  };
  // `done` runs on the copying thread.
  void Take(Task task);

 private:
  absl::StatusOr<std::unique_ptr<UnnamedFile>> Copy(const std::function<bool()>& cancelled);

  const std::string database_;
  const std::filesystem::path endpoint_;
  TaskThreads thread_;
};

}  // namespace winnow
