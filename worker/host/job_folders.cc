#include "worker/host/job_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "artifact/files.h"
#include "artifact/folder.h"
#include "base/status_text.h"
#include "spdlog/spdlog.h"
#include "worker/host/folders.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kJobs[] = "jobs";
constexpr char kMarks[] = ".marks";
constexpr std::string_view kAside = ".deleted-";  // before the name of a folder that is being removed
constexpr size_t kLongestName = 255;

bool NamesFile(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::vector<std::string> NamesIn(const OpenFolder& folder) {
  std::vector<std::string> names;
  const absl::Status status = folder.ForEach([&names](const std::string& name, const struct stat&) {
    names.push_back(name);
    return absl::OkStatus();
  });
  if (!status.ok()) spdlog::warn("{}", MessageOf(status));
  return names;
}

absl::Status MarkIn(const fs::path& root, std::string_view job, const std::string& mark) {
  if (absl::Status status = MakeFolder(root); !status.ok()) return status;
  const auto marks = OpenFolder::Make(FolderName(root, fs::path(kJobs) / job / kMarks));
  if (!marks.ok()) return marks.status();
  const OpenFile file(marks->path() / mark, openat(marks->descriptor(), mark.c_str(),
                                                   O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.descriptor() >= 0 ? absl::OkStatus() : FileError(marks->path() / mark, "cannot be made", errno);
}

// Moves the job's folder aside, where no worker looks for it, and removes it there.
absl::Status RemoveFolder(const OpenFolder& jobs, const std::string& job) {
  const std::string aside = std::string(kAside) + job;
  if (absl::Status status = jobs.Remove(aside); !status.ok()) return status;
  if (renameat(jobs.descriptor(), job.c_str(), jobs.descriptor(), aside.c_str()) != 0)
    return errno == ENOENT ? absl::OkStatus() : FileError(jobs.path() / job, "cannot be removed", errno);
  const absl::StatusOr<OpenFolder> folder = jobs.Inner(aside);
  if (folder.ok() && folder->Inner(kMarks).ok()) {
    // Another worker has begun to use it for a job of the same id, of another server.
    if (renameat(jobs.descriptor(), aside.c_str(), jobs.descriptor(), job.c_str()) == 0)
      return absl::OkStatus();
  }
  return jobs.Remove(aside);
}

}  // namespace

std::set<std::string> MarksBelow(const fs::path& root) {
  std::set<std::string> found;
  const auto jobs = OpenFolder::Open(FolderName(root, kJobs));
  if (!jobs.ok()) return found;
  for (const std::string& job : NamesIn(*jobs)) {
    const auto folder = jobs->Inner(job);
    const auto marks = folder.ok() ? folder->Inner(kMarks) : folder.status();
    if (!marks.ok()) continue;
    for (std::string& mark : NamesIn(*marks)) found.insert(std::move(mark));
  }
  return found;
}

std::vector<std::string> RemoveMarks(const fs::path& root, const std::set<std::string>& marks) {
  std::vector<std::string> gone;
  const auto jobs = OpenFolder::Open(FolderName(root, kJobs));
  if (!jobs.ok()) return gone;
  for (const std::string& job : NamesIn(*jobs)) {
    if (job.starts_with(kAside)) {  // of a worker that was killed meanwhile
      (void)jobs->Remove(job);
      continue;
    }
    const auto folder = jobs->Inner(job);
    const auto its = folder.ok() ? folder->Inner(kMarks) : folder.status();
    if (!its.ok()) continue;
    bool any = false;
    for (const std::string& mark : NamesIn(*its)) {
      if (marks.count(mark) > 0) any = unlinkat(its->descriptor(), mark.c_str(), 0) == 0 || any;
    }
    // Succeeds only if no mark is left.
    if (!any || unlinkat(folder->descriptor(), kMarks, AT_REMOVEDIR) != 0) continue;
    if (absl::Status status = RemoveFolder(*jobs, job); !status.ok()) {
      spdlog::warn("{}", MessageOf(status));
    } else {
      gone.push_back(job);
    }
  }
  return gone;
}

JobFolders::JobFolders(fs::path work, fs::path shared) : roots_{std::move(work), std::move(shared)} {}

JobFolders::~JobFolders() { thread_.Stop(); }

absl::Status JobFolders::Mark(std::string_view job, const std::string& mark) {
  if (!NamesFile(mark) || !NamesFile(job) || made_.count(mark) > 0) return absl::OkStatus();
  for (const fs::path& root : roots_) {
    if (absl::Status status = MarkIn(root, job, mark); !status.ok()) return status;
  }
  made_.insert(mark);
  return absl::OkStatus();
}

void JobFolders::List(std::function<void(std::vector<std::string>)> done) {
  thread_.Post([roots = roots_, done = std::move(done)] {
    std::set<std::string> marks;
    for (const fs::path& root : roots) marks.merge(MarksBelow(root));
    done({marks.begin(), marks.end()});
  });
}

void JobFolders::Remove(const std::vector<std::string>& marks) {
  for (const std::string& mark : marks) made_.erase(mark);
  thread_.Post([roots = roots_, marks = std::set<std::string>(marks.begin(), marks.end())] {
    std::set<std::string> gone;
    for (const fs::path& root : roots) {
      for (std::string& job : RemoveMarks(root, marks)) gone.insert(std::move(job));
    }
    for (const std::string& job : gone) spdlog::info("removed the folders of job {}, which was deleted", job);
  });
}

}  // namespace winnow
