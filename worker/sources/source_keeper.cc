#include "worker/sources/source_keeper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/folder.h"
#include "artifact/manifest.h"
#include "artifact/restore.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "spdlog/spdlog.h"
#include "worker/host/leftover_processes.h"
#include "worker/sources/source_tree.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDone = ".done";
constexpr size_t kTailBytes = 8 << 10;  // kept of a setup's output
constexpr int kToldLines = 5;
constexpr size_t kToldBytes = 1000;
constexpr size_t kShownBytes = 100;  // of a setup that runs
constexpr std::chrono::seconds kFetchPatience(60);
constexpr std::chrono::milliseconds kFetchRetry(500);

// Whether the variable belongs to one trial: a setup runs once for many.
bool IsOfTrial(std::string_view name) {
  return name.starts_with("SM_") || name.starts_with("WINNOW_") || name == "RANK" || name == "WORLD_SIZE" ||
         name == "LOCAL_RANK" || name == "MASTER_ADDR" || name == "MASTER_PORT";
}

// Whether the variable lets a job in somewhere: two jobs that have other keys get the same.
bool IsAccess(std::string_view name) {
  return name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY" || name == "AWS_SESSION_TOKEN" ||
         name == "SAGEMAKER_ACCESS";
}

// "DIGEST", or with a setup "DIGEST.SETUP". What a setup makes in one image may not run in another, and it
// may make something else where the job's environment is another.
std::string NameOf(const v1::Assignment& assignment) {
  const v1::SourceToRun& source = assignment.source();
  if (source.setup().empty()) return source.digest();
  std::string command;
  const auto add = [&command](const std::string& word) {
    command += fmt::format("{} {}\n", word.size(), word);
  };
  for (const std::string& word : source.setup()) add(word);
  if (assignment.has_container()) {
    add(assignment.container().engine());
    add(assignment.container().image());
    for (const std::string& option : assignment.container().options()) add(option);
  }
  const std::map<std::string, std::string> variables(assignment.environment().begin(),
                                                     assignment.environment().end());
  for (const auto& [variable, value] : variables) {
    if (!IsOfTrial(variable) && !IsAccess(variable)) add(fmt::format("{}={}", variable, value));
  }
  return source.digest() + "." + DigestOf(command).substr(0, 16);
}

// What is done while a setup runs: "runs the setup `pip install torch`".
std::string WhatRuns(const v1::SourceToRun& source) {
  const std::string command = fmt::format("{}", fmt::join(source.setup(), " "));
  return fmt::format("runs the setup `{}{}`", Utf8Prefix(command, kShownBytes),
                     command.size() > kShownBytes ? "…" : "");
}

// The last lines that are not blank.
std::string LastLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && static_cast<int>(lines.size()) < kToldLines) {
    const size_t begin = text.find_last_of("\r\n");
    const std::string_view line = begin == std::string_view::npos ? text : text.substr(begin + 1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.emplace_back(line);
    text = begin == std::string_view::npos ? std::string_view() : text.substr(0, begin);
  }
  std::reverse(lines.begin(), lines.end());
  std::string joined = fmt::format("{}", fmt::join(lines, " | "));
  if (joined.size() > kToldBytes) joined = "…" + joined.substr(joined.size() - kToldBytes);
  return joined;
}

// Which variables of the worker no program may see.
bool IsOfWorker(std::string_view name) {
  return name.starts_with("WINNOW_TOKEN") || name.starts_with("WINNOW_TLS_") || name == "WINNOW_SERVER";
}

}  // namespace

class SourceKeeper::Lease : public SourceLease {
 public:
  explicit Lease(fs::path folder) : folder_(std::move(folder)) {}
  const fs::path& folder() const override { return folder_; }

 private:
  const fs::path folder_;
};

SourceKeeper::SourceKeeper(EventLoop* loop, const std::shared_ptr<grpc::Channel>& channel, fs::path work,
                           ContainerHost* containers, SourceLimits limits)
    : loop_(loop),
      client_(channel),
      work_(std::move(work)),
      root_(work_ / "sources"),
      containers_(containers),
      limits_(limits) {
  std::error_code ignored;
  fs::create_directories(root_, ignored);
  // Others can pass to a source whose name they know, and list none.
  (void)chmod(root_.c_str(), 0711);
  RemoveIncomplete();
  RemoveUnused();
}

SourceKeeper::~SourceKeeper() {
  *alive_ = false;
  cancellation_.Cancel();
  for (auto& [name, making] : making_) loop_->Cancel(making.timer);
  making_.clear();
  thread_.Stop();
}

void SourceKeeper::Post(std::function<void()> function) {
  loop_->Post([alive = alive_, function = std::move(function)] {
    if (*alive) function();
  });
}

bool SourceKeeper::IsDone(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(root_ / (name + kDone), ignored);
}

std::shared_ptr<SourceLease> SourceKeeper::Take(const std::string& name) {
  std::shared_ptr<SourceLease> lease = in_use_[name].lock();
  if (lease == nullptr) {
    lease = std::make_shared<Lease>(FolderOf(name));
    in_use_[name] = lease;
  }
  // Its time of modification is when it was used last.
  (void)utimensat(AT_FDCWD, (root_ / (name + kDone)).c_str(), nullptr, 0);
  return lease;
}

void SourceKeeper::Prepare(const v1::Assignment& assignment, const std::vector<std::string>& environment,
                           Progress tell, Done done) {
  const v1::SourceToRun& source = assignment.source();
  if (!IsDigest(source.digest())) return done(absl::InvalidArgumentError("the source's digest is not one"));
  const std::string name = NameOf(assignment);
  const auto found = making_.find(name);
  if (found != making_.end()) {
    if (found->second.setup != nullptr) tell(WhatRuns(source));
    found->second.waiters.push_back({assignment.id(), std::move(tell), std::move(done)});
    return;
  }
  if (IsDone(name)) return done(Take(name));
  Making& making = making_[name];
  making.assignment = assignment;
  making.environment = environment;
  making.waiters.push_back({assignment.id(), std::move(tell), std::move(done)});
  thread_.Post([this, name, assignment] {
    absl::Status status = Fetch(assignment);
    Post([this, name, status = std::move(status)] { Fetched(name, status); });
  });
}

void SourceKeeper::Abandon(const std::string& assignment_id) {
  for (auto& [name, making] : making_) {
    std::erase_if(making.waiters, [&](const Waiter& waiter) { return waiter.assignment == assignment_id; });
    if (!making.waiters.empty() || making.setup == nullptr) continue;
    making.given_up = true;
    making.setup->Stop(std::chrono::seconds(0));
  }
}

// On the thread.
absl::Status SourceKeeper::Fetch(const v1::Assignment& assignment) {
  const std::string& digest = assignment.source().digest();
  if (IsDone(digest)) return absl::OkStatus();
  const auto until = std::chrono::steady_clock::now() + kFetchPatience;
  Mutex mutex;
  absl::Status lost;
  const auto retried = [&](const auto& call) {
    while (true) {
      auto answer = call();
      const bool away = absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
      if (answer.ok() || !away || std::chrono::steady_clock::now() > until ||
          !cancellation_.Sleep(kFetchRetry)) {
        const MutexLock lock(mutex);
        if (!answer.ok())
          lost = absl::UnavailableError(fmt::format("the job's source cannot be fetched from the server: {}",
                                                    MessageOf(answer.status())));
        return answer;
      }
    }
  };
  const absl::StatusOr<v1::Manifest> manifest =
      retried([&] { return client_.GetSource(assignment.job_id(), cancellation_); });
  if (!manifest.ok()) return lost;
  if (ManifestDigest(*manifest) != digest)
    return absl::UnavailableError("the source that the server sent is not the one that the job has");
  const fs::path folder = FolderOf(digest);
  if (absl::Status status = RemoveSource(folder); !status.ok()) return status;
  absl::Status status = RestoreFolder(*manifest, folder, [&](const v1::BlobName& blob) {
    return retried([&] { return client_.GetBlob(blob, cancellation_); });
  });
  if (!lost.ok()) return lost;
  if (absl::IsDataLoss(status)) return absl::UnavailableError(status.message());
  return status.ok() ? MarkDone(digest) : status;
}

// On the thread. REQUIRES: the folder is complete.
absl::Status SourceKeeper::MarkDone(const std::string& name) {
  const absl::StatusOr<int64_t> bytes = SealTree(FolderOf(name));
  if (!bytes.ok()) return bytes.status();
  const fs::path mark = root_ / (name + kDone);
  absl::StatusOr<OpenFile> file = OpenFile::Open(mark, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(std::to_string(*bytes));
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = SyncFolder(root_);
  return status;
}

void SourceKeeper::Fetched(const std::string& name, const absl::Status& status) {
  Making& making = making_.at(name);
  if (!status.ok() || making.assignment.source().setup().empty() || making.waiters.empty())
    return Finish(name, status);
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  if (take_user_) {
    absl::StatusOr<UserLease> user = take_user_(FolderName(work_, fs::path("sources") / name));
    if (!user.ok()) return Finish(name, user.status());
    making.user = std::make_shared<const UserLease>(*std::move(user));
    uid = making.user->user().uid;
    gid = making.user->user().gid;
  }
  const std::string digest = making.assignment.source().digest();
  in_use_["copying " + name] = Take(digest);
  thread_.Post([this, name, uid, gid, from = FolderOf(digest), lease = Take(digest)] {
    absl::Status copied = RemoveSource(FolderOf(name));
    if (copied.ok()) copied = CopyTree(from, FolderOf(name), uid, gid);
    Post([this, name, copied = std::move(copied), lease] {
      in_use_.erase("copying " + name);
      copied.ok() && !making_.at(name).waiters.empty() ? RunSetup(name) : Finish(name, copied);
    });
  });
}

void SourceKeeper::RunSetup(const std::string& name) {
  Making& making = making_.at(name);
  ProcessSpec spec;
  const auto& setup = making.assignment.source().setup();
  spec.command.assign(setup.begin(), setup.end());
  spec.working_directory = FolderOf(name).string();
  std::map<std::string, std::string> variables;
  for (const std::string& entry : making.environment) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || IsOfWorker(entry.substr(0, equals))) continue;
    variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  for (const auto& [variable, value] : making.assignment.environment()) {
    if (!IsOfTrial(variable)) variables[variable] = value;
  }
  variables["WINNOW_WORK_DIR"] = work_.string();
  variables["WINNOW_ASSIGNMENT"] = "setup." + name;
  if (making.user != nullptr) {
    // The copy is the user's only folder.
    for (const char* personal : {"HOME", "TMPDIR"}) variables[personal] = FolderOf(name).string();
    for (const char* personal : {"USER", "LOGNAME"})
      variables[personal] = std::to_string(making.user->user().uid);
    spec.setup.user = making.user;
  }
  for (const auto& [variable, value] : variables) spec.environment.push_back(variable + "=" + value);
  spec.mark = AssignmentMark(variables["WINNOW_ASSIGNMENT"]);
  if (making.assignment.has_container()) {
    if (absl::Status status = EnterContainer(name, &spec); !status.ok()) {
      if (absl::IsResourceExhausted(status)) return Finish(name, status);
      return Finish(name, absl::AbortedError(fmt::format("`{}` cannot be started: {}", fmt::join(setup, " "),
                                                         MessageOf(status))));
    }
  }
  spdlog::info("setup of source {} begins: {}", name, fmt::join(spec.command, " "));
  auto process = Process::Start(loop_, spec,
                                {[this, name](Process::Stream, std::string_view bytes) {
                                   std::string& tail = making_.at(name).tail;
                                   tail += bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes));
                                   if (tail.size() > 2 * kTailBytes) tail.erase(0, tail.size() - kTailBytes);
                                 },
                                 [this, name](const ProcessEnd& end) {
                                   // Not within the process's own callback, which its deletion would end.
                                   const auto ended = [this, name](const ProcessEnd& how) {
                                     Post([this, name, how] { SetupEnded(name, how); });
                                   };
                                   const Making& ending = making_.at(name);
                                   if (ending.container == nullptr) return ended(end);
                                   ending.container->ProcessEnded(end, ending.setup->IsStopping(), ended);
                                 }});
  if (!process.ok()) {
    const bool of_machine = absl::IsResourceExhausted(process.status());
    return Finish(
        name, of_machine ? process.status()
                         : absl::AbortedError(fmt::format("`{}` cannot be started: {}", fmt::join(setup, " "),
                                                          MessageOf(process.status()))));
  }
  making.setup = *std::move(process);
  for (const Waiter& waiter : making.waiters) waiter.tell(WhatRuns(making.assignment.source()));
  if (making.container != nullptr) making.container->ProcessStarted();
  making.timer = loop_->After(limits_.setup_time, [this, name] {
    making_.at(name).timer = 0;
    making_.at(name).out_of_time = true;
    making_.at(name).setup->Stop(std::chrono::seconds(0));
  });
}

// REQUIRES: the spec has the setup's own command, environment and working directory.
absl::Status SourceKeeper::EnterContainer(const std::string& name, ProcessSpec* spec) {
  if (containers_ == nullptr) return absl::FailedPreconditionError("this worker runs no containers");
  Making& making = making_.at(name);
  v1::Assignment assignment = making.assignment;
  assignment.set_id("setup." + name);
  *assignment.mutable_command() = making.assignment.source().setup();
  // A setup has the whole worker, and no device.
  assignment.clear_cpus();
  assignment.clear_memory_gib();
  assignment.clear_gpus();
  TrialContainer::Needs needs;
  needs.variables = ContainerVariables(assignment, making.user != nullptr, spec->environment);
  needs.mounts = {{spec->working_directory, true}};
  needs.working_directory = spec->working_directory;
  needs.user = making.user == nullptr ? nullptr : &making.user->user();
  auto container = TrialContainer::Make(containers_, assignment, std::move(needs));
  if (!container.ok()) return container.status();
  making.container = *std::move(container);
  spec->command = making.container->Command();
  spec->environment = making.container->Environment();
  spec->working_directory = making.container->WorkingDirectory();
  if (making.container->is_apart()) {
    spec->setup.user = nullptr;
    if (making.user != nullptr) spec->setup.stream_user = &making.user->user();
  }
  return absl::OkStatus();
}

void SourceKeeper::SetupEnded(const std::string& name, const ProcessEnd& end) {
  Making& making = making_.at(name);
  loop_->Cancel(std::exchange(making.timer, 0));
  making.setup = nullptr;
  making.container = nullptr;
  making.user = nullptr;
  const std::string command = fmt::format("{}", fmt::join(making.assignment.source().setup(), " "));
  if (making.out_of_time || end.exit_code != 0) {
    if (std::exchange(making.given_up, false)) {
      // It begins again for those that have come since it was killed.
      making.out_of_time = false;
      making.tail.clear();
      return Fetched(name, absl::OkStatus());
    }
    const std::string how = making.out_of_time
                                ? fmt::format("took longer than {} s", limits_.setup_time.count())
                                : fmt::format("failed with exit code {}", end.exit_code);
    const std::string lines = LastLines(making.tail);
    spdlog::warn("setup of source {}: `{}` {}: {}", name, command, how, lines);
    return Finish(name, absl::AbortedError(fmt::format("`{}` {}{}{}", command, how,
                                                       lines.empty() ? "; it wrote nothing" : ": ", lines)));
  }
  thread_.Post([this, name] {
    absl::Status status = MarkDone(name);
    Post([this, name, status = std::move(status)] { Finish(name, status); });
  });
}

void SourceKeeper::Finish(const std::string& name, const absl::Status& status) {
  Making making = std::move(making_.at(name));
  making_.erase(name);
  const bool done = status.ok() && IsDone(name);
  for (const Waiter& waiter : making.waiters) {
    if (done) {
      waiter.done(Take(name));
    } else {
      waiter.done(status.ok() ? absl::UnavailableError("the source was not made ready") : status);
    }
  }
  std::vector<std::string> used;
  for (const auto& [other, lease] : in_use_) used.push_back(other);
  for (const std::string& other : used) {
    if (in_use_[other].expired()) in_use_.erase(other);
  }
  RemoveUnused();
}

// Before anything is fetched: what has no mark was left by a worker that was killed.
void SourceKeeper::RemoveIncomplete() {
  std::error_code error;
  for (fs::directory_iterator entry(root_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kDone) || IsDone(name)) continue;
    if (absl::Status status = RemoveSource(entry->path()); !status.ok())
      spdlog::warn("an incomplete source cannot be removed: {}", MessageOf(status));
  }
}

void SourceKeeper::RemoveUnused() {
  struct Kept {
    fs::file_time_type used;
    std::string name;
    int64_t bytes = 0;
  };
  std::vector<Kept> kept;
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(root_, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kDone)) continue;
    int64_t size = 0;
    std::ifstream(entry->path()) >> size;
    name.resize(name.size() - std::string_view(kDone).size());
    bytes += size;
    kept.push_back({entry->last_write_time(error), name, size});
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  const auto oldest = fs::file_time_type::clock::now() - limits_.unused;
  for (const Kept& source : kept) {
    const auto user = in_use_.find(source.name);
    if (user != in_use_.end() && !user->second.expired()) continue;
    if (bytes <= limits_.bytes && source.used > oldest) continue;
    bytes -= source.bytes;
    spdlog::info("source {} is removed: {}", source.name,
                 source.used > oldest ? "sources take more disk than they may" : "no job has used it lately");
    // Without the mark it is not there any more; the thread removes it before it can make it anew.
    fs::remove(root_ / (source.name + kDone), error);
    thread_.Post([name = source.name, folder = FolderOf(source.name)] {
      if (absl::Status status = RemoveSource(folder); !status.ok())
        spdlog::warn("source {} cannot be removed: {}", name, MessageOf(status));
    });
  }
}

}  // namespace winnow
