#pragma once

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace winnow {

// Errors name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);
// Writes atomically: afterwards `path` has either the whole text, on disk, or its old content. While this
// thread has a LateSync::Scope, the text is there for all processes, and on disk once the LateSync has run.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);
// The same for a file that replaces others: removes them once it is on disk.
absl::Status ReplaceFiles(const std::string& path, const std::string& text,
                          std::vector<std::string> replaced);

// Puts files on disk beside the work of the thread that has written them. Before that, a machine that loses
// its power may lose the new files, but not those that they replace.
class LateSync {
 public:
  LateSync() = default;
  ~LateSync();
  LateSync(const LateSync&) = delete;
  LateSync& operator=(const LateSync&) = delete;

  // During its life, this thread's WriteFileWhole and ReplaceFiles leave the rest to the LateSync.
  class Scope {
   public:
    explicit Scope(LateSync* sync);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    LateSync* const before_;
  };

  // Begins to put the files on disk, on a thread of its own, after those of earlier calls. A file that one of
  // them replaces is left out.
  void Begin();
  // Returns the first error so far, without waiting.
  absl::Status SoFar();
  // Waits until all are on disk; returns the first error.
  absl::Status Await();

 private:
  friend absl::Status ReplaceFiles(const std::string& path, const std::string& text,
                                   std::vector<std::string> replaced);
  struct File {
    std::string path;
    std::vector<std::string> replaced;
  };
  void Run();

  std::vector<File> files_;  // written since the last Begin
  std::thread thread_;
  Mutex mutex_;
  std::vector<File> begun_ ABSL_GUARDED_BY(mutex_);  // that the thread has not taken yet
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
