#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/task_threads.h"

namespace winnow {

// The folders that workers make for jobs, WORK/jobs/JOB and SHARED/jobs/JOB, and their removal once the jobs
// are deleted. Such a folder has a file .marks/MARK for every job, of whatever server, that it was made for
// (Assignment.job_mark). It is removed with its last mark. A folder without marks is never removed.
class JobFolders {
 public:
  JobFolders(std::filesystem::path work, std::filesystem::path shared);
  // Waits for the folder that is being removed.
  ~JobFolders();

  // Makes both folders with the mark. Does nothing for a mark that names no file.
  absl::Status Mark(std::string_view job, const std::string& mark);
  // Calls `done`, on another thread, with the marks in all folders, each once.
  void List(std::function<void(std::vector<std::string>)> done);
  // Removes the marks, and folders with them, on another thread.
  void Remove(const std::vector<std::string>& marks);

 private:
  const std::vector<std::filesystem::path> roots_;
  std::set<std::string> made_;  // marks that this process has made
  TaskThreads thread_;
};

// The marks below ROOT/jobs.
std::set<std::string> MarksBelow(const std::filesystem::path& root);

// Removes the marks below ROOT/jobs, and the folders that then have none. Returns the jobs whose folders are
// gone.
std::vector<std::string> RemoveMarks(const std::filesystem::path& root, const std::set<std::string>& marks);

}  // namespace winnow
