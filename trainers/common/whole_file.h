#pragma once

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
// its power may lose the new file, but not those that it replaces.
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

  // Begins to put the files on disk, on a thread of its own. REQUIRES: Await was called after the last Begin.
  void Begin();
  // Waits until they are; returns the first error.
  absl::Status Await();

 private:
  friend absl::Status ReplaceFiles(const std::string& path, const std::string& text,
                                   std::vector<std::string> replaced);
  struct File {
    std::string path;
    std::vector<std::string> replaced;
  };

  std::vector<File> files_;  // used by the thread alone while it runs
  absl::Status status_;      // likewise
  std::thread thread_;
};

}  // namespace winnow
